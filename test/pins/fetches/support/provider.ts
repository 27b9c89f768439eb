import type { CID } from 'multiformats/cid'
import type { ServedBlocks } from '../../../../src/network/served-blocks.ts'
import type { Block } from './dags.ts'

/** Blocks that a test controls. Counts the requests for each. */
export class ScriptedBlocks implements ServedBlocks {
  readonly #blocks = new Map<string, Uint8Array>()
  readonly #served = new Map<string, number>()
  #asked = 0
  #release: () => void = () => undefined
  /**
   * Called before each block is sent, with the number of the request, starting at 1. It may return other bytes to send.
   */
  before: (cid: CID, asked: number) => Promise<Uint8Array | undefined> | undefined = () => undefined

  constructor(blocks: readonly Block[]) {
    for (const { cid, bytes } of blocks) this.#blocks.set(keyOf(cid), bytes)
  }

  /** Number of requests, answered or not. */
  get asked(): number {
    return this.#asked
  }

  /** Number of blocks sent, repeats included. */
  get total(): number {
    return [...this.#served.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Sends at most that many blocks. Later requests wait. */
  hangAfter(most: number): void {
    const end = this.#asked + most
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#release = () => resolve(undefined)
    this.before = (_, asked) => (asked > end ? promise : undefined)
  }

  /** Sends the blocks of waiting requests, and answers later ones immediately. */
  async answerAgain(): Promise<void> {
    this.before = () => undefined
    this.#release()
    await new Promise(resolve => setImmediate(resolve))
  }

  /** Number of times a block was sent. */
  count(cid: CID): number {
    return this.#served.get(keyOf(cid)) ?? 0
  }

  /** Highest number of times that any block was sent. */
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

/** Peers request blocks by multihash, without the codec. */
function keyOf(cid: CID): string {
  return Buffer.from(cid.multihash.bytes).toString('hex')
}
