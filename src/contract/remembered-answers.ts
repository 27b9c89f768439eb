import { LRUCache } from 'lru-cache'
import type { Records } from '../catalogue/records.ts'
import type { Clock } from '../domain/clock.ts'
import type { ApiResponse } from '../http/api-messages.ts'

const MOST_BYTES = 8 * 1024 ** 2
/** Longest cached answer, in characters. */
const LONGEST_ANSWER = 128 * 1024

export interface RememberedAnswersParts {
  /** The catalogue, whose version changes with every write; null if the version is unknown. */
  store: { version(): string } | null
  records: Pick<Records, 'nextExpiry'>
  clock: Clock
}

interface Remembered {
  response: ApiResponse & { body: string }
  version: string
  /** The period in which it is valid, in ms since the epoch. */
  since: number
  until: number
}

/**
 * A cache of answers. An answer is valid until the next write or the next expiry of a record, so that clients may poll
 * cheaply.
 */
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
   * Returns the cached answer, or calls `find` and caches its result.
   *
   * @param question cache key: the account and the request
   * @param find computes the answer; an error is not cached
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
    // Stored under the version from before `find`, because the answer may lack a later write.
    if (until > since) this.#answers.set(question, { response: { ...response, body }, version, since, until })
  }
}
