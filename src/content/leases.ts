/**
 * Roots that are being read, so that the collector leaves them alone for as long. A lease is held in memory only:
 * it ends with the response that it protects.
 */
export class Leases {
  readonly #held = new Map<number, number>()

  /** Holds a root until the returned function is called, once. */
  hold(rootId: number): () => void {
    this.#held.set(rootId, (this.#held.get(rootId) ?? 0) + 1)
    let released = false
    return () => {
      if (released) return
      released = true
      const left = (this.#held.get(rootId) ?? 1) - 1
      if (left === 0) this.#held.delete(rootId)
      else this.#held.set(rootId, left)
    }
  }

  held(): ReadonlySet<number> {
    return new Set(this.#held.keys())
  }
}
