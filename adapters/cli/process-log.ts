import type { Logger } from 'pino'
import type { LogLines } from './log-lines.ts'

/**
 * Has the log tell what the process says of itself and Node would print as text among its lines: warnings, and the
 * failure that ends it, with exit code 1. However the process exits, what waits in `lines` is written first. Returns
 * what ends the telling.
 */
export function logProcess(logger: Logger, lines: LogLines): () => void {
  process.on('exit', () => lines.flushSync())
  const printing = process.listeners('warning')
  const warn = (err: Error): void => {
    // Of what Node calls experimental only the stripping of types is used: by clones, which run by it.
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
