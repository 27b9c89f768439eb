import type { CID } from 'multiformats/cid'
import type { Activity } from '../concurrency/activity.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { BlockStore } from './block-store.ts'

/** A block that cannot be read, or is not what it should be. */
export interface DamagedBlock {
  /** The block as a raw CID; its real codec is not known to the ledger. */
  cid: string
  /** What is wrong with it, for people. */
  reason: string
  /** Complete roots that need it, at most 100. */
  roots: string[]
}

/** What has been read, and what of it is damaged. */
export interface Verified {
  /** Blocks that were read, and their bytes as the ledger has them. */
  blocks: number
  bytes: number
  /** The damaged blocks, of more than 1,000 the first. */
  damaged: DamagedBlock[]
  /** How many there are. */
  damagedBlocks: number
}

/** How blocks are verified. */
export interface VerifyOptions {
  /** Its abort ends the verification with what has been found by then. */
  signal?: AbortSignal
  /** Called with what has been read so far, and how many damaged blocks were among it. */
  onProgress?: (progress: { blocks: number; bytes: number; damaged: number }) => void
}

/** Rows read together; of what is in files, so many are read at a time. */
const BATCH = 16
/** Damaged blocks that are told of, and roots of each. */
const MOST_TOLD = 1_000
const MOST_ROOTS = 100

/** Reads every durable block and checks its hash, while everything else goes on. */
export class Verifier {
  readonly #blocks: Blocks
  readonly #stores: ReadonlyMap<number, BlockStore>
  readonly #activity: Activity

  constructor(blocks: Blocks, stores: ReadonlyMap<number, BlockStore>, activity: Activity) {
    this.#blocks = blocks
    this.#stores = stores
    this.#activity = activity
  }

  /**
   * The caller's signal ends it early, with what it has found by then.
   *
   * @throws HoldfastError `UNAVAILABLE` or `ABORTED` when everything stops.
   */
  verify(options: VerifyOptions = {}): Promise<Verified> {
    return this.#activity.run(options.signal, async signal => {
      const verified = await this.#verify(signal, options.onProgress)
      if (options.signal?.aborted !== true) signal.throwIfAborted()
      return verified
    })
  }

  async #verify(signal: AbortSignal, onProgress: VerifyOptions['onProgress']): Promise<Verified> {
    const verified: Verified = { blocks: 0, bytes: 0, damaged: [], damagedBlocks: 0 }
    for (let after = 0; !signal.aborted; ) {
      const batch = this.#blocks.durableAfter(after, BATCH)
      const last = batch.at(-1)
      if (last === undefined) return verified
      after = last.id
      // Rows are read and hashed at once, without a wait in which anybody else would get the loop.
      if (turnSpent()) await nextTurn()
      const problems = await Promise.all(batch.map(block => this.problemOf(block)))
      for (const [index, block] of batch.entries()) {
        verified.blocks++
        verified.bytes += block.size
        const reason = problems[index] ?? null
        if (reason === null) continue
        if (++verified.damagedBlocks <= MOST_TOLD) verified.damaged.push(this.#tell(block, reason))
      }
      onProgress?.({ blocks: verified.blocks, bytes: verified.bytes, damaged: verified.damagedBlocks })
    }
    return verified
  }

  #tell(block: StoredBlock, reason: string): DamagedBlock {
    const roots = this.#blocks.completeRootsOf(block.id, 0, MOST_ROOTS)
    return { cid: rawCidOf(block).toString(), reason, roots: roots.map(root => cidOf(root).toString()) }
  }

  /** Why a block is damaged; null if it is as it should be, or gone. */
  async problemOf(block: StoredBlock): Promise<string | null> {
    const cid = rawCidOf(block)
    const store = this.#stores.get(block.backendId)
    // Of an absent cluster nothing can be said.
    if (store === undefined) return null
    try {
      await store.get(cid, { verify: true, here: true })
      return null
    } catch (error) {
      // Gone is not damaged: it may have been collected since the batch was read.
      if (isHoldfastError(error, 'NOT_FOUND')) return null
      if (isHoldfastError(error, 'BLOCK_DAMAGED')) return error.message
      throw error
    }
  }
}

function rawCidOf({ multihash }: StoredBlock): CID {
  return cidOf({ codec: CODEC.raw, multihash })
}
