/** What the core asks of a logger; pino's own shape, so a pino instance can be passed as it is. */
export interface Logger {
  /** `fields` are what the line is about; an error among them is `err`. */
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const ignore = (): void => {}

/** Says nothing; what an embedded engine uses unless it is given a logger. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
