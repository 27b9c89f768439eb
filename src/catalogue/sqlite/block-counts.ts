/** Maximum number of questions whose counts stay in memory. */
const QUESTIONS = 256

/** Number of matches in a block, and when the first of them expires; null if none does. */
export interface BlockCount {
  count: number
  until: number | null
}

/** Caches how many live records of a block match a question, until a record of the block changes or expires. */
export class BlockCounts {
  readonly #counts = new Map<string, Map<number, BlockCount & { since: number }>>()

  get(question: string, block: number, now: number): number | undefined {
    const known = this.#counts.get(question)?.get(block)
    if (known === undefined || now < known.since || (known.until !== null && now >= known.until)) return undefined
    return known.count
  }

  set(question: string, block: number, now: number, count: BlockCount): void {
    const counts = this.#counts.get(question) ?? new Map<number, BlockCount & { since: number }>()
    this.#counts.delete(question)
    this.#counts.set(question, counts)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > QUESTIONS && oldest !== undefined) this.#counts.delete(oldest)
    counts.set(block, { ...count, since: now })
  }

  changed(block: number): void {
    for (const counts of this.#counts.values()) counts.delete(block)
  }
}
