/** Maximum number of nonces in memory. They use about 10 MB. */
const MOST = 100_000

/**
 * Accepts each nonce once.
 * Nonces are grouped by second. When memory is full, the oldest second is forgotten, and proofs from that second or
 * earlier are refused. Proofs then expire sooner, but no proof is accepted twice, even if the clock is set back.
 */
export class UsedNonces {
  readonly #goodForMs: number
  readonly #most: number
  readonly #bySecond = new Map<number, Set<string>>()
  #count = 0
  /** Newest forgotten second. Proofs from this second or earlier are refused. */
  #forgotten = Number.NEGATIVE_INFINITY

  /** @param goodForMs maximum age of a proof, in ms */
  constructor(goodForMs: number, most: number = MOST) {
    this.#goodForMs = goodForMs
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /**
   * Uses up a nonce. Returns false if the nonce was used before, or may have been used in a forgotten second.
   * @param at the time of the proof, in ms since the epoch
   */
  take(nonce: string, at: number, now: number): boolean {
    const outdated = secondOf(now - this.#goodForMs) - 1
    if (outdated > this.#forgotten) this.#forget(outdated)
    const second = secondOf(at)
    if (second <= this.#forgotten) return false
    const used = this.#bySecond.get(second) ?? new Set()
    if (used.has(nonce)) return false
    this.#bySecond.set(second, used.add(nonce))
    this.#count++
    if (this.#count > this.#most) this.#forget(Math.min(...this.#bySecond.keys()))
    return true
  }

  #forget(last: number): void {
    this.#forgotten = last
    for (const [second, used] of this.#bySecond) {
      if (second > last) continue
      this.#bySecond.delete(second)
      this.#count -= used.size
    }
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
