/** Logger of the engine. A pino instance can be passed unchanged, because it has these methods. */
export interface Logger {
  /** `fields` are the context of the log line. An error has the field name `err`. */
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const ignore = (): void => {}

/** Default of an embedded engine. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
