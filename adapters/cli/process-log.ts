import type { Logger } from 'pino'
import type { LogLines } from './log-lines.ts'

/**
 * Logs the warnings and the uncaught failure of the process, which Node would print as plain text. At exit, writes the
 * waiting `lines`.
 * @returns a function that stops logging warnings and failures
 */
export function logProcess(logger: Logger, lines: LogLines): () => void {
  process.on('exit', () => lines.flushSync())
  const printing = process.listeners('warning')
  const warn = (err: Error): void => {
    // In a checkout of the sources, type stripping is the only experimental feature.
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
