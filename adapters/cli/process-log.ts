import type { Logger } from 'pino'
import type { LogLines } from './log-lines.ts'

/**
 * Logs the warnings of the process, and logs an uncaught failure before the process exits with code 1. Without this
 * function, Node would print both as plain text. At exit, writes the waiting `lines`.
 *
 * @returns a function that stops logging warnings and failures
 */
export function logProcess(logger: Logger, lines: LogLines): () => void {
  process.on('exit', () => lines.flushSync())
  const printing = process.listeners('warning')
  const warn = (err: Error): void => {
    // Type stripping, in a checkout of the sources, is the only experimental feature in use.
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
