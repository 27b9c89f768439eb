/** Logger of the core. It has the shape of pino's, so a pino instance can be passed as it is. */
export interface Logger {
  /** `fields` are the context of the line; an error among them is `err`. */
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const ignore = (): void => {}

/** Discards all lines: the default of an embedded engine. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
