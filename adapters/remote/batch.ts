import { orAborted } from '../../src/domain/sources.ts'

export interface BatchOptions<Item, Answer> {
  maxItems: number
  /** Returns the answers in the order of the items. */
  ask: (items: readonly Item[]) => Promise<readonly Answer[]>
  /**
   * Sends each item of a failed request again by itself, because one invalid item may fail the whole request. Default
   * false.
   */
  retryAlone?: boolean
}

interface Waiting<Item, Answer> {
  item: Item
  signal: AbortSignal
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** Collects items while a request runs, for the next request. Only one request runs at a time. */
export class Batch<Item, Answer> {
  readonly #options: BatchOptions<Item, Answer>
  readonly #waiting: Array<Waiting<Item, Answer>> = []
  #isAsking = false

  constructor(options: BatchOptions<Item, Answer>) {
    this.#options = options
  }

  /** `ask` needs its own timeout: an abort of `signal` rejects this promise, but does not end the shared request. */
  of(item: Item, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#waiting.push({ item, signal, resolve, reject })
    if (!this.#isAsking) void this.#askAll()
    return orAborted(promise, signal)
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true
    // Wait one microtask, so that all items added in the same turn go into one request.
    await null
    while (this.#waiting.length > 0) {
      const asked = this.#waiting.splice(0, this.#options.maxItems).filter(({ signal }) => !signal.aborted)
      if (asked.length > 0) await this.#ask(asked)
    }
    this.#isAsking = false
  }

  async #ask(asked: ReadonlyArray<Waiting<Item, Answer>>): Promise<void> {
    const { ask, retryAlone = false } = this.#options
    try {
      const answers = await ask(asked.map(({ item }) => item))
      for (const [i, { resolve }] of asked.entries()) resolve(answers[i] as Answer)
    } catch (error) {
      const isShared = retryAlone && asked.length > 1
      if (!isShared) for (const { reject } of asked) reject(error)
      else await Promise.all(asked.filter(({ signal }) => !signal.aborted).map(one => this.#ask([one])))
    }
  }
}
