/** Port for the time. Tests advance the time instead of waiting. */
export interface Clock {
  /** Returns the current time in ms since the epoch. */
  now(): number
  /**
   * Calls `callback` once, after at least `ms` milliseconds. Does not keep the process alive. Returns a function that
   * cancels the call.
   */
  after(ms: number, callback: () => void): () => void
}

/** Longer sleeps are split, because `setTimeout` fires immediately if the delay exceeds a signed 32-bit number. */
const LONGEST_WAIT_MS = 60_000

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Keeps the process alive until the caller calls the returned function. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, LONGEST_WAIT_MS)
  return () => clearInterval(timer)
}

/** Returns whether `instant` has been reached. Null never is. */
export function isPast(instant: number | null, now: number): instant is number {
  return instant !== null && instant <= now
}

/** Returns how long to sleep before `instant`, in ms. The limit lets the caller notice if the clock jumps. */
export function waitFor(instant: number | null, now: number): number {
  if (instant === null) return LONGEST_WAIT_MS
  return Math.min(Math.max(instant - now, 0), LONGEST_WAIT_MS)
}
