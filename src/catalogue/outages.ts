import { HoldfastError, type HoldfastErrorOptions } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

const outages = new WeakSet<HoldfastError>()

/** Creates an error that an outage of the catalogue's database caused. The log has one line for each outage. */
export function outageError(
  code: 'UNAVAILABLE' | 'OUTCOME_UNKNOWN',
  message: string,
  options: HoldfastErrorOptions = {},
): HoldfastError {
  const error = new HoldfastError(code, message, options)
  outages.add(error)
  return error
}

export function isOutage(error: unknown): boolean {
  return error instanceof HoldfastError && outages.has(error)
}

/** Returns a logger that lowers failures caused by an outage to the level debug. */
export function withoutOutages(logger: Logger): Logger {
  const isRepeated = (fields: object): boolean => 'err' in fields && isOutage(fields.err)
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: (fields, message) => logger[isRepeated(fields) ? 'debug' : 'warn'](fields, message),
    error: (fields, message) => logger[isRepeated(fields) ? 'debug' : 'error'](fields, message),
  }
}
