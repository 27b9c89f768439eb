// A command runs in real time, because it waits for people and other processes.

/** Resolves after a number of milliseconds. */
export { setTimeout as sleep } from 'node:timers/promises'

/** Returns the time in ms since the epoch. */
export function timeNow(): number {
  return Date.now()
}

/** Returns milliseconds of a clock that nobody sets. Only differences mean anything. */
export function steadyTime(): number {
  return performance.now()
}

/** Returns a signal that aborts after `ms`. */
export function signalWithin(ms: number): AbortSignal {
  return AbortSignal.timeout(ms)
}
