import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { CODEC } from '../domain/cid.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { BlockTable, StoredBlock } from '../storage/block-table.ts'
import type { BlockStore } from './block-store.ts'

export interface DamagedBlock {
  /** The block as a raw CID; its real codec is not known to the ledger. */
  cid: string
  reason: string
  /** The complete roots that need it. */
  roots: string[]
}

export interface Verified {
  blocks: number
  bytes: number
  damaged: DamagedBlock[]
}

const BATCH = 64

/** Reads every durable block and checks its hash, while everything else goes on. */
export class Verifier {
  readonly #blocks: BlockTable
  readonly #stores: ReadonlyMap<number, BlockStore>

  constructor(blocks: BlockTable, stores: ReadonlyMap<number, BlockStore>) {
    this.#blocks = blocks
    this.#stores = stores
  }

  /** @param options.signal ends it early, with what it has found by then */
  async verify(options: { signal?: AbortSignal } = {}): Promise<Verified> {
    const verified: Verified = { blocks: 0, bytes: 0, damaged: [] }
    for (let after = 0; options.signal?.aborted !== true; ) {
      const batch = this.#blocks.durableAfter(after, BATCH)
      const last = batch.at(-1)
      if (last === undefined) return verified
      after = last.id
      const findings = await Promise.all(batch.map(block => this.#check(block)))
      for (const [index, block] of batch.entries()) {
        verified.blocks++
        verified.bytes += block.size
        const damaged = findings[index] ?? null
        if (damaged !== null) verified.damaged.push(damaged)
      }
    }
    return verified
  }

  async #check(block: StoredBlock): Promise<DamagedBlock | null> {
    const cid = CID.createV1(CODEC.raw, Digest.decode(block.multihash))
    try {
      await this.#stores.get(block.backendId)?.get(cid, { verify: true })
      return null
    } catch (error) {
      // Gone is not damaged: it may have been collected since the batch was read.
      if (!isHoldfastError(error, 'BLOCK_DAMAGED')) return null
      const roots = this.#blocks.completeRootsOf(block.id)
      return {
        cid: cid.toString(),
        reason: error.message,
        roots: roots.map(root => CID.createV1(root.codec, Digest.decode(root.multihash)).toString()),
      }
    }
  }
}
