import { steadyTime } from './real-time.ts'

/** Time in ms within which a second signal is ignored. One Ctrl+C can arrive twice: from the terminal, and from npm. */
const SAME_SIGNAL_MS = 250

/** Resolves at the first SIGTERM or SIGINT. A later signal ends the process at once. */
export function untilSignalled(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    let firstAt: number | null = null
    const heard = (signal: NodeJS.Signals): void => {
      if (firstAt === null) {
        firstAt = steadyTime()
        resolve(signal)
      } else if (steadyTime() - firstAt > SAME_SIGNAL_MS) {
        process.exit(1)
      }
    }
    process.on('SIGTERM', heard)
    process.on('SIGINT', heard)
  })
}
