import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** A line of the log that told of something wrong. */
export interface Failure {
  /** In milliseconds since the epoch. */
  at: number
  level: 'warn' | 'error'
  message: string
  /** What it was about, as far as that is no secret. */
  about: Readonly<Record<string, string | number>>
}

const MOST = 200
const LONGEST_TEXT = 300
/** Fields that never hold what a client has sent of itself, or where the node keeps what. */
const TOLD = new Set([
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
  'webhook',
  'files',
  'event',
])

/** The last lines of the log that told of something wrong, in memory alone and bounded. */
export class RecentFailures {
  readonly #clock: Clock
  readonly #failures: Failure[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The newest first. */
  get all(): readonly Failure[] {
    return this.#failures.toReversed()
  }

  /** A logger that writes to the given one, and has what is wrong noted here. */
  noting(logger: Logger): Logger {
    return {
      debug: (fields, message) => logger.debug(fields, message),
      info: (fields, message) => logger.info(fields, message),
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
    this.#failures.push({ at: this.#clock.now(), level, message, about: whatIsTold(fields) })
    if (this.#failures.length > MOST) this.#failures.shift()
  }
}

function whatIsTold(fields: object): Record<string, string | number> {
  const told: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'err') told.error = errorText(value)
    else if (TOLD.has(name) && typeof value === 'number') told[name] = value
    else if (TOLD.has(name) && typeof value === 'string') told[name] = value.slice(0, LONGEST_TEXT)
  }
  return told
}

/** Messages of errors that are not our own may hold anything: of those the kind is told, which is in the log as well. */
function errorText(error: unknown): string {
  if (isHoldfastError(error)) return `${error.code}: ${error.message}`.slice(0, LONGEST_TEXT)
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as { code?: unknown }
  return (typeof code === 'string' ? `${error.name} ${code}` : error.name).slice(0, LONGEST_TEXT)
}
