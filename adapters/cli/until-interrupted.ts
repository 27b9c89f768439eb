import { interruptible } from '../../src/domain/sources.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that reads pieces. At a signal, the next read fails at once, so that the work can clean up. The signal ends
 * the process when the work has ended.
 */
export async function untilInterrupted<Result>(
  pieces: AsyncIterable<Uint8Array>,
  work: (pieces: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const end = new AbortController()
  const hear = (signal: NodeJS.Signals): void => end.abort(signal)
  for (const signal of SIGNALS) process.on(signal, hear)
  try {
    return await work(interruptible(pieces, end.signal))
  } catch (error) {
    if (!end.signal.aborted) await leave(pieces)
    throw error
  } finally {
    for (const signal of SIGNALS) process.off(signal, hear)
    if (end.signal.aborted) process.kill(process.pid, end.signal.reason)
  }
}

/** Ends pieces that work has not begun to read. Their connection would keep the process running. */
async function leave(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pieces[Symbol.asyncIterator]().return?.()
  } catch {
    // The work has read them, or their source has failed.
  }
}
