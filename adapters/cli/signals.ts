/** A terminal signals the whole process group and npm passes the signal on as well: one key press, two signals. */
const SAME_SIGNAL_MS = 250

/** Resolves at the first SIGTERM or SIGINT. Another one ends the process at once. */
export function untilSignalled(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    let firstAt: number | null = null
    const heard = (signal: NodeJS.Signals): void => {
      if (firstAt === null) {
        firstAt = performance.now()
        resolve(signal)
      } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
        process.exit(1)
      }
    }
    process.on('SIGTERM', heard)
    process.on('SIGINT', heard)
  })
}
