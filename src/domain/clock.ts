/** Time as a port, so that tests advance it instead of sleeping. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /**
   * Calls back once, at least `ms` milliseconds from now, without keeping the process alive. Returns a function that
   * cancels.
   */
  after(ms: number, callback: () => void): () => void
}

/** `setTimeout` takes at most a signed 32-bit delay and fires at once beyond it, so longer waits are cut. */
const LONGEST_WAIT_MS = 60_000

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, LONGEST_WAIT_MS)
  return () => clearInterval(timer)
}

/** Returns how long to sleep until `instant`: a minute at most, so that a clock that jumps is noticed. */
export function waitFor(instant: number | null, now: number): number {
  if (instant === null) return LONGEST_WAIT_MS
  return Math.min(Math.max(instant - now, 0), LONGEST_WAIT_MS)
}
