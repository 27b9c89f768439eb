import { LRUCache } from 'lru-cache'
import type { Records } from '../catalogue/records.ts'
import { requestsArrived } from '../concurrency/turns.ts'
import type { Clock } from '../domain/clock.ts'
import type { ApiResponse } from '../http/api-messages.ts'

/** Maximum number of characters of a cached response body. */
const LONGEST_ANSWER = 128 * 1024
/** Approximate memory in bytes of a cached response, besides its texts. */
const BYTES_OF_ANSWER = 512

/** The state on which an account's responses depend, and until when, in ms since the epoch. */
export interface AnswerVersion {
  version: string
  /** Time of the next expiry of a record; null for none. */
  nextExpiry: number | null | (() => Promise<number | null>)
}

export interface AnswerVersions {
  of(accountId: string): AnswerVersion | Promise<AnswerVersion>
}

/** Returns the versions of a catalogue in this process. Other processes may write to its database. */
export function ownVersions(
  store: { versionOf(accountId: string): string; dataVersion(): number },
  records: Pick<Records, 'nextExpiry'>,
): AnswerVersions {
  let others = { arrived: -1, version: 0 }
  return {
    of: accountId => {
      const arrived = requestsArrived()
      // Requests that have arrived together share one look at the database, because it costs system calls.
      if (arrived !== others.arrived) others = { arrived, version: store.dataVersion() }
      const version = `${store.versionOf(accountId)} ${others.version}`
      return { version, nextExpiry: () => records.nextExpiry() }
    },
  }
}

export interface RememberedAnswersParts {
  versions: AnswerVersions
  clock: Clock
  /** Maximum size in bytes of the cached responses. */
  mostBytes: number
}

export interface Answer {
  response: ApiResponse
  /** The content that the response is about; null for none. */
  cid: string | null
  /** True if the response may change without a change of the catalogue, so that it is not cached. */
  isLive: boolean
}

interface Remembered {
  answer: Answer & { response: { body: string } }
  version: string
  /** Start of the period in which the response is valid, in ms since the epoch. */
  since: number
  until: number
}

/** Caches responses until the account's next version or the next expiry of a record. Makes polling cheap. */
export class RememberedAnswers {
  readonly #parts: RememberedAnswersParts
  readonly #answers: LRUCache<string, Remembered>

  constructor(parts: RememberedAnswersParts) {
    this.#parts = parts
    this.#answers = new LRUCache({
      maxSize: parts.mostBytes,
      sizeCalculation: ({ answer: { response } }, question) =>
        BYTES_OF_ANSWER + 2 * (response.body.length + question.length),
    })
  }

  /**
   * Returns the cached response, or else the result of `find`.
   *
   * @param question cache key, which contains the account and the request
   * @param find its errors are not cached
   */
  async answer(accountId: string, question: string, find: () => Promise<Answer>): Promise<Answer> {
    const { versions, clock } = this.#parts
    const { version, nextExpiry } = await versions.of(accountId)
    const now = clock.now()
    const known = this.#answers.get(question)
    if (known !== undefined && known.version === version && known.since <= now && now < known.until) {
      return known.answer
    }
    const answer = await find()
    const { body } = answer.response
    if (answer.isLive || typeof body !== 'string' || body.length > LONGEST_ANSWER) return answer
    const until = (typeof nextExpiry === 'function' ? await nextExpiry() : nextExpiry) ?? Number.POSITIVE_INFINITY
    // `version` is from before `find`. After a write during `find`, the cached response is never used.
    const kept = { ...answer, response: { ...answer.response, body } }
    if (until > now) this.#answers.set(question, { answer: kept, version, since: now, until })
    return answer
  }
}
