import type { CID } from 'multiformats/cid'
import type { ServedBlocks } from '../../../../src/network/served-blocks.ts'
import type { Block } from './dags.ts'

/** Blocks that a node serves as a test wants them served, and how often each was asked for. */
export class ScriptedBlocks implements ServedBlocks {
  readonly #blocks = new Map<string, Uint8Array>()
  readonly #served = new Map<string, number>()
  #asked = 0
  #release: () => void = () => undefined
  /**
   * What happens before a block is given, the first of all being number 1; what it returns, if anything, is given
   * instead.
   */
  before: (cid: CID, asked: number) => Promise<Uint8Array | undefined> | undefined = () => undefined

  constructor(blocks: readonly Block[]) {
    for (const { cid, bytes } of blocks) this.#blocks.set(keyOf(cid), bytes)
  }

  /** How often blocks were asked for, answered or not. */
  get asked(): number {
    return this.#asked
  }

  /** Blocks given so far, repeats included. */
  get total(): number {
    return [...this.#served.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Gives no more than that many blocks and then leaves everybody waiting. */
  hangAfter(most: number): void {
    const end = this.#asked + most
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#release = () => resolve(undefined)
    this.before = (_, asked) => (asked > end ? promise : undefined)
  }

  /** Gives those who wait what they wait for, which has happened when it resolves, and everybody at once. */
  async answerAgain(): Promise<void> {
    this.before = () => undefined
    this.#release()
    await new Promise(resolve => setImmediate(resolve))
  }

  /** How often a block was given. */
  count(cid: CID): number {
    return this.#served.get(keyOf(cid)) ?? 0
  }

  /** The most that any block was given. */
  get most(): number {
    return Math.max(0, ...this.#served.values())
  }

  remove(cid: CID): void {
    this.#blocks.delete(keyOf(cid))
  }

  put({ cid, bytes }: Block): void {
    this.#blocks.set(keyOf(cid), bytes)
  }

  has(cid: CID): boolean {
    return this.#blocks.has(keyOf(cid))
  }

  async get(cid: CID): Promise<Uint8Array | null> {
    const bytes = this.#blocks.get(keyOf(cid))
    if (bytes === undefined) return null
    const instead = await this.before(cid, ++this.#asked)
    this.#served.set(keyOf(cid), this.count(cid) + 1)
    return instead ?? bytes
  }
}

/** Peers ask by multihash, whatever the codec. */
function keyOf(cid: CID): string {
  return Buffer.from(cid.multihash.bytes).toString('hex')
}
