import type { CID } from 'multiformats/cid'
import { SpareReads, WalkBudget, type WalkLimits } from '../../src/content/dag/ordered-walk.ts'
import type { BlockReader } from '../../src/content/unixfs/block-reader.ts'
import { type Loaded, NodeCache } from '../../src/content/unixfs/node-cache.ts'
import type { AnswerMeans } from '../../src/content/unixfs/streamed-block.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** Blocks in memory, with a count of reads. */
export class MapReader implements BlockReader {
  readonly budget: WalkBudget
  readonly spareReads = new SpareReads(3)
  reads = 0
  means?: AnswerMeans
  sizeOf?: (cid: CID) => number | null
  readonly #nodes = new NodeCache(new ManualClock())
  readonly #read: (cid: CID) => Promise<Uint8Array>

  constructor(read: (cid: CID) => Promise<Uint8Array>, limits: WalkLimits = {}, signal = new AbortController().signal) {
    this.#read = read
    this.budget = new WalkBudget(signal, limits)
  }

  static over(blocks: ReadonlyMap<string, Uint8Array>, limits?: WalkLimits, signal?: AbortSignal): MapReader {
    const read = async (cid: CID): Promise<Uint8Array> => blocks.get(cid.toString()) ?? new Uint8Array()
    return new MapReader(read, limits, signal)
  }

  get(cid: CID): Promise<Uint8Array> {
    this.reads++
    return this.#read(cid)
  }

  load(cid: CID): Promise<Loaded> {
    return this.#nodes.load(cid, asked => this.get(asked))
  }
}
