import type { CID } from 'multiformats/cid'
import { type Loaded, NodeCache } from '../../src/gateway/node-cache.ts'
import { ReadAhead } from '../../src/gateway/read-ahead.ts'
import type { BlockReader } from '../../src/gateway/request-blocks.ts'
import { WalkBudget, type WalkLimits } from '../../src/gateway/walk-budget.ts'

/** Blocks in memory, and how often they were read. */
export class MapReader implements BlockReader {
  readonly budget: WalkBudget
  readonly readAhead = new ReadAhead(3)
  reads = 0
  readonly #nodes = new NodeCache()
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
