import type { Logger } from 'pino'
import type { LogLines } from './log-lines.ts'

/**
 * Logs warnings of the process, and the failure that ends it with exit code 1, which Node would print as text. On every
 * exit it first writes the waiting `lines`. Returns a function that stops it.
 */
export function logProcess(logger: Logger, lines: LogLines): () => void {
  process.on('exit', () => lines.flushSync())
  const printing = process.listeners('warning')
  const warn = (err: Error): void => {
    // The only experimental feature in use is type stripping, in clones.
    if (err.name !== 'ExperimentalWarning') logger.warn({ err }, 'warning of the process')
  }
  const fail = (err: unknown): void => {
    logger.fatal({ err }, 'unexpected failure: the process ends')
    process.exit(1)
  }
  process.removeAllListeners('warning').on('warning', warn).on('uncaughtException', fail)
  return () => {
    process.off('warning', warn).off('uncaughtException', fail)
    for (const listener of printing) process.on('warning', listener)
  }
}
