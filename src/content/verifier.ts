import type { CID } from 'multiformats/cid'
import type { Activity } from '../concurrency/activity.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { BlockStore } from './block-store.ts'

/** A block that cannot be read, or has wrong bytes. */
export interface DamagedBlock {
  /** CID of the block with codec raw, since the ledger does not know its codec. */
  cid: string
  /** Problem, for people. */
  reason: string
  /** Complete roots that need it, at most 100. */
  roots: string[]
}

/** Result of a verification. */
export interface Verified {
  /** Blocks that were read, and their bytes as recorded in the ledger. */
  blocks: number
  bytes: number
  /** The first 1,000 damaged blocks. */
  damaged: DamagedBlock[]
  /** Number of damaged blocks. */
  damagedBlocks: number
}

/** Options of a verification. */
export interface VerifyOptions {
  /** Abort ends the verification with the result so far. */
  signal?: AbortSignal
  /** Called with the blocks read so far, and the damaged ones among them. */
  onProgress?: (progress: { blocks: number; bytes: number; damaged: number }) => void
}

/** Rows per batch, and files read concurrently. */
const BATCH = 16
/** Limits of reported damaged blocks, and of roots of each. */
const MOST_REPORTED = 1_000
const MOST_ROOTS = 100

/** Reads every durable block and checks its hash, beside all other work. */
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
   * Verifies all blocks. The caller's signal ends it early with the result so far.
   *
   * @throws HoldfastError `UNAVAILABLE` or `ABORTED` when the engine stops.
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
      // Rows are read and hashed without a wait that would give the event loop to others.
      if (turnSpent()) await nextTurn()
      const problems = await Promise.all(batch.map(block => this.problemOf(block)))
      for (const [index, block] of batch.entries()) {
        verified.blocks++
        verified.bytes += block.size
        const reason = problems[index] ?? null
        if (reason === null) continue
        if (++verified.damagedBlocks <= MOST_REPORTED) verified.damaged.push(this.#describe(block, reason))
      }
      onProgress?.({ blocks: verified.blocks, bytes: verified.bytes, damaged: verified.damagedBlocks })
    }
    return verified
  }

  #describe(block: StoredBlock, reason: string): DamagedBlock {
    const roots = this.#blocks.completeRootsOf(block.id, 0, MOST_ROOTS)
    return { cid: rawCidOf(block).toString(), reason, roots: roots.map(root => cidOf(root).toString()) }
  }

  /** Returns the problem of a damaged block; null for a sound or deleted one. */
  async problemOf(block: StoredBlock): Promise<string | null> {
    const cid = rawCidOf(block)
    const store = this.#stores.get(block.backendId)
    // Blocks of an absent cluster cannot be checked.
    if (store === undefined) return null
    try {
      await store.get(cid, { verify: true, localOnly: true })
      return null
    } catch (error) {
      // The collector may have deleted it after the batch was read.
      if (isHoldfastError(error, 'NOT_FOUND')) return null
      if (isHoldfastError(error, 'BLOCK_DAMAGED')) return error.message
      throw error
    }
  }
}

function rawCidOf({ multihash }: StoredBlock): CID {
  return cidOf({ codec: CODEC.raw, multihash })
}
