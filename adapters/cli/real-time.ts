// A command runs in real time, because it waits for people and other processes.

/** Returns the time in ms since the epoch. */
export function timeNow(): number {
  return Date.now()
}

/** Returns milliseconds of a clock that nobody sets. Only differences mean anything. */
export function steadyTime(): number {
  return performance.now()
}

/** Resolves after `ms`. */
export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** Returns a signal that aborts after `ms`. */
export function signalWithin(ms: number): AbortSignal {
  return AbortSignal.timeout(ms)
}
