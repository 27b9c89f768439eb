import type { CID } from 'multiformats/cid'
import type { Activity } from '../concurrency/activity.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { BlockStore } from './block-store.ts'

/** A block that cannot be read or has the wrong bytes. */
export interface DamagedBlock {
  /** CID of the block with the codec raw, because the ledger does not store the codec. */
  cid: string
  /** Description of the problem for people. */
  reason: string
  /** CIDs of up to 100 complete roots that need the block. */
  roots: string[]
}

/** Result of a verification. */
export interface Verified {
  /** Number of blocks that were read, and their total size in bytes as the ledger records it. */
  blocks: number
  bytes: number
  /** Up to 1,000 damaged blocks, in the order in which they were found. */
  damaged: DamagedBlock[]
  /** Total number of damaged blocks, including those not in `damaged`. */
  damagedBlocks: number
}

/** Options of a verification. */
export interface VerifyOptions {
  /** Ends the verification, which then returns the result so far. */
  signal?: AbortSignal
  /** Called with the totals of the blocks read so far. */
  onProgress?: (progress: { blocks: number; bytes: number; damaged: number }) => void
}

/** Ledger rows per query, and files that are read concurrently. */
const BATCH = 16
/** Reported blocks, and reported roots for each block. */
const MOST_REPORTED = 1_000
const MOST_ROOTS = 100

/** Reads every durable block and checks its hash, alongside all other work. */
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
   * Verifies all blocks. If the caller's signal aborts, returns the result so far.
   *
   * @throws HoldfastError `UNAVAILABLE` or `ABORTED` if the engine stops
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
      // The query and the hashing may never wait for I/O, so yield to the event loop explicitly.
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

  /** Describes the damage of a block, or returns null if the block is undamaged or was deleted. */
  async problemOf(block: StoredBlock): Promise<string | null> {
    const cid = rawCidOf(block)
    const store = this.#stores.get(block.backendId)
    // Blocks of an absent cluster cannot be checked.
    if (store === undefined) return null
    try {
      await store.get(cid, { verify: true, localOnly: true })
      return null
    } catch (error) {
      // The collector may have deleted the block after the query.
      if (isHoldfastError(error, 'NOT_FOUND')) return null
      if (isHoldfastError(error, 'BLOCK_DAMAGED')) return error.message
      throw error
    }
  }
}

function rawCidOf({ multihash }: StoredBlock): CID {
  return cidOf({ codec: CODEC.raw, multihash })
}
