/** How many blocks all readers together may have waiting that nobody has asked for yet. */
export class SpareReads {
  #left: number

  constructor(blocks: number) {
    this.#left = blocks
  }

  /** Whether one more may be read; who may gives it back when it is used, or not needed after all. */
  take(): boolean {
    if (this.#left === 0) return false
    this.#left--
    return true
  }

  give(): void {
    this.#left++
  }
}
