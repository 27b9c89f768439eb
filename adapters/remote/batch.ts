import { orAborted } from '../../src/domain/sources.ts'

export interface BatchOptions<Item, Answer> {
  /** How many go together. */
  most: number
  /** Answers in the order of the items. */
  ask: (items: readonly Item[]) => Promise<readonly Answer[]>
  /** Whether what has failed together is asked for again each by itself, since one may be to blame for all. */
  thenAlone?: boolean
}

interface Waiting<Item, Answer> {
  item: Item
  signal: AbortSignal
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** Asks one request at a time, for all who have come to ask while the one before was under way. */
export class Batch<Item, Answer> {
  readonly #options: BatchOptions<Item, Answer>
  readonly #waiting: Array<Waiting<Item, Answer>> = []
  #isAsking = false

  constructor(options: BatchOptions<Item, Answer>) {
    this.#options = options
  }

  /** A request is everybody's, so that nobody's abort ends it: it has to have a deadline of its own. */
  of(item: Item, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#waiting.push({ item, signal, resolve, reject })
    if (!this.#isAsking) void this.#askAll()
    return orAborted(promise, signal)
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true
    // Those who come in the same turn are asked for together.
    await null
    while (this.#waiting.length > 0) {
      // Who has gone is asked for no more.
      const asked = this.#waiting.splice(0, this.#options.most).filter(({ signal }) => !signal.aborted)
      if (asked.length > 0) await this.#ask(asked)
    }
    this.#isAsking = false
  }

  async #ask(asked: ReadonlyArray<Waiting<Item, Answer>>): Promise<void> {
    const { ask, thenAlone = false } = this.#options
    try {
      const answers = await ask(asked.map(({ item }) => item))
      for (const [i, { resolve }] of asked.entries()) resolve(answers[i] as Answer)
    } catch (error) {
      const isShared = thenAlone && asked.length > 1
      if (!isShared) for (const { reject } of asked) reject(error)
      else await Promise.all(asked.filter(({ signal }) => !signal.aborted).map(one => this.#ask([one])))
    }
  }
}
