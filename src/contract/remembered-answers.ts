import { LRUCache } from 'lru-cache'
import type { Clock } from '../domain/clock.ts'
import type { ApiResponse } from '../http/api-messages.ts'

const MOST_BYTES = 8 * 1024 ** 2
/** Characters of the longest answer that is kept. */
const LONGEST_ANSWER = 128 * 1024

export interface RememberedAnswersParts {
  /** Another text as soon as anything has been written; null where that cannot be told. */
  version: () => string | null
  /** When the next record expires, in milliseconds since the epoch; null if none does. */
  nextExpiry: () => Promise<number | null>
  clock: Clock
}

interface Remembered {
  response: ApiResponse & { body: string }
  version: string
  /** From when until when it holds. */
  since: number
  until: number
}

/**
 * Answers that are given again as long as nothing has been written and no record has expired, so that whoever asks again
 * and again for what stays the same costs little.
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
   * @param question what tells it from all others: who asks, and for what
   * @param find finds the answer; one that throws is not kept
   */
  async answer(question: string, find: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const version = this.#parts.version()
    if (version === null) return find()
    const now = this.#parts.clock.now()
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
    const until = (await this.#parts.nextExpiry()) ?? Number.POSITIVE_INFINITY
    // By the version from before: what was written while it was looked for may be in it or not.
    if (until > since) this.#answers.set(question, { response: { ...response, body }, version, since, until })
  }
}
