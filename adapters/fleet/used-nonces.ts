/** Nonces that are remembered at a time: at most about 10 MB. */
const MOST = 100_000

/**
 * The nonces of accepted proofs, each accepted once. Memory is bounded: whole seconds of proofs are forgotten together, and
 * every proof of a forgotten second is refused from then on. So a full store shortens the age that a proof may have, and
 * never accepts one twice. The same holds for a clock that is set back.
 */
export class UsedNonces {
  readonly #goodForMs: number
  readonly #most: number
  readonly #bySecond = new Map<number, Set<string>>()
  #count = 0
  /** The last second whose proofs are refused. */
  #forgotten = Number.NEGATIVE_INFINITY

  /** @param goodForMs how old a proof may be, in milliseconds */
  constructor(goodForMs: number, most: number = MOST) {
    this.#goodForMs = goodForMs
    this.#most = most
  }

  /** Nonces that are remembered. */
  get count(): number {
    return this.#count
  }

  /**
   * Takes a nonce. Returns false if it was taken before, or if nobody can tell.
   *
   * @param at when its proof was made, in milliseconds since the epoch
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
