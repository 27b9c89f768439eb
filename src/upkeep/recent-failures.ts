import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** A log line of the level warn or error. */
export interface Failure {
  at: number
  level: 'warn' | 'error'
  message: string
  /** Log fields that contain no secrets. */
  about: Readonly<Record<string, string | number>>
}

const MOST = 200
const LONGEST_TEXT = 300
/** Log fields that contain neither text from clients nor paths. */
const SAFE_FIELDS = new Set([
  'requestId',
  'method',
  'route',
  'status',
  'code',
  'surface',
  'ms',
  'cid',
  'reason',
  'jobs',
  'job',
  'backend',
  'webhook', // feature: webhooks
  'files',
  'event',
])

/** Records the newest warnings and errors of the log in memory. */
export class RecentFailures {
  readonly #clock: Clock
  readonly #failures: Failure[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get all(): readonly Failure[] {
    return this.#failures.toReversed()
  }

  noting(logger: Logger): Logger {
    return {
      debug: logger.debug.bind(logger),
      info: logger.info.bind(logger),
      warn: (fields, message) => {
        this.#note('warn', fields, message)
        logger.warn(fields, message)
      },
      error: (fields, message) => {
        this.#note('error', fields, message)
        logger.error(fields, message)
      },
    }
  }

  #note(level: Failure['level'], fields: object, message: string): void {
    this.#failures.push({ at: this.#clock.now(), level, message, about: safeFieldsOf(fields) })
    if (this.#failures.length > MOST) this.#failures.shift()
  }
}

function safeFieldsOf(fields: object): Record<string, string | number> {
  const safe: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'err') safe.error = errorText(value)
    else if (SAFE_FIELDS.has(name) && typeof value === 'number') safe[name] = value
    else if (SAFE_FIELDS.has(name) && typeof value === 'string') safe[name] = value.slice(0, LONGEST_TEXT)
  }
  return safe
}

/**
 * Returns only the name and code of a foreign error, whose message may contain anything. The log contains the whole
 * error.
 */
function errorText(error: unknown): string {
  if (isHoldfastError(error)) return `${error.code}: ${error.message}`.slice(0, LONGEST_TEXT)
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as { code?: unknown }
  return (typeof code === 'string' ? `${error.name} ${code}` : error.name).slice(0, LONGEST_TEXT)
}
