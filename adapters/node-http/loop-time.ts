// The watches of event loops and threads measure real time. The clock of the engine may be a manual one.

/** Calls `beat` every `ms` with the real time since its last call. Returns a function that ends the calls. */
export function everyMs(ms: number, beat: (elapsedMs: number) => void, { keepsAlive = false } = {}): () => void {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const elapsed = now - last
    last = now
    beat(elapsed)
  }, ms)
  if (!keepsAlive) timer.unref()
  return () => clearInterval(timer)
}
