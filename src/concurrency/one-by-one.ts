/** Does one thing after the other for each key; what belongs to different keys does not wait. */
export class OneByOne {
  /** By key, the end of what was asked for last. */
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const mine = before === undefined ? work() : before.then(work, work)
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}
