import { LRUCache } from 'lru-cache'
import type { Records } from '../catalogue/records.ts'
import type { Clock } from '../domain/clock.ts'
import type { ApiResponse } from '../http/api-messages.ts'

const MOST_BYTES = 8 * 1024 ** 2
/** Maximum number of characters of a cached response body. */
const LONGEST_ANSWER = 128 * 1024

export interface RememberedAnswersParts {
  /** The catalogue, whose version changes with every write. If null, nothing is cached. */
  store: { version(): string } | null
  records: Pick<Records, 'nextExpiry'>
  clock: Clock
}

interface Remembered {
  response: ApiResponse & { body: string }
  version: string
  /** Start of the period in which the response is valid, in ms since the epoch. */
  since: number
  until: number
}

/** Caches responses until the next write to the catalogue or the next expiry of a record. Makes polling cheap. */
export class RememberedAnswers {
  readonly #parts: RememberedAnswersParts
  readonly #answers = new LRUCache<string, Remembered>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ response }, question) => 2 * (response.body.length + question.length),
  })

  constructor(parts: RememberedAnswersParts) {
    this.#parts = parts
  }

  /**
   * Returns the cached response, or else the result of `find`.
   *
   * @param question cache key, which contains the account and the request
   * @param find its errors are not cached
   */
  async answer(question: string, find: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const { store, clock } = this.#parts
    if (store === null) return find()
    const version = store.version()
    const now = clock.now()
    const known = this.#answers.get(question)
    if (known !== undefined && known.version === version && known.since <= now && now < known.until) {
      return known.response
    }
    const response = await find()
    await this.#keep(question, response, version, now)
    return response
  }

  async #keep(question: string, response: ApiResponse, version: string, since: number): Promise<void> {
    const { body } = response
    if (typeof body !== 'string' || body.length > LONGEST_ANSWER) return
    const until = (await this.#parts.records.nextExpiry()) ?? Number.POSITIVE_INFINITY
    // `version` is from before `find`. After a write during `find`, the cached response is never used.
    if (until > since) this.#answers.set(question, { response: { ...response, body }, version, since, until })
  }
}
