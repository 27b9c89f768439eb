/** Maximum number of questions whose counts stay in memory. */
const QUESTIONS = 256

/** Caches how many records of a block match a question, until a record of the block changes. */
export class BlockCounts {
  readonly #counts = new Map<string, Map<number, { count?: number }>>()

  get(question: string, block: number): number | undefined {
    return this.#counts.get(question)?.get(block)?.count
  }

  /** Returns a function that stores the count, unless the block has changed in the meantime. */
  begin(question: string, block: number): (count: number) => void {
    const counts = this.#counts.get(question) ?? new Map<number, { count?: number }>()
    this.#counts.delete(question)
    this.#counts.set(question, counts)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > QUESTIONS && oldest !== undefined) this.#counts.delete(oldest)
    const begun = counts.get(block) ?? {}
    counts.set(block, begun)
    return count => {
      begun.count = count
    }
  }

  changed(block: number): void {
    for (const counts of this.#counts.values()) counts.delete(block)
  }
}
