import type { MultihashDigest } from 'multiformats'
import type { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import type { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { sha256 } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import { keyOfMultihash } from '../ipld/multihash-key.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Possessor } from '../ledger/possessor.ts'
import { type BlockFiles, Durability } from './block-files.ts'
import { type BlockThreads, isShared } from './block-threads.ts'
import type { DoomedBlock, FailedDeletion } from './deletion.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { StoredBlocks } from './stored-blocks.ts'

export interface BlockStoreOptions {
  backendId: number
  files: BlockFiles
  /** Maximum size in bytes of a block that is stored in the database. */
  smallBlockBytes: number
  /** Hash and write blocks in shared memory. If absent, libuv's thread pool does this work. */
  threads?: BlockThreads
  /** Limits concurrent file writes. All stores that use one thread pool share this semaphore. */
  writes: Semaphore
  reserve: Pick<DiskReserve, 'admit'>
  onHealed: (cid: CID) => void
  onDamaged: (cid: CID, reason: string) => void
}

export interface PutProgress {
  /** True if the root had no claim on the block before. */
  added: boolean
  /** True if the store did not have the block before, as far as the sender may know. */
  isNew: boolean
  /** Resolves when the block's file is durable. The ledger's row becomes durable with the next durable commit. */
  durable: Promise<void>
}

interface FileWrite {
  renamed: Promise<unknown>
  durable: Promise<void>
}

/** Even an empty block takes disk space for its row and index entries. */
const LEAST_CHARGE = 512

/** Returns the bytes that a block counts in its account's quota. */
export function chargeOf(size: number): number {
  return Math.max(size, LEAST_CHARGE)
}

/** Stores the blocks of one backend. The ledger claims each block before its bytes are written. */
export class BlockStore extends StoredBlocks {
  readonly #options: BlockStoreOptions
  readonly #ledger: Ledger
  readonly #blocks: Blocks
  readonly #durability: Durability
  /** By multihash. Concurrent puts of the same block wait for the first write. */
  readonly #writing = new Map<string, FileWrite>()
  /** By multihash. Each promise resolves after the rows of the deleted blocks are deleted. */
  readonly #deleting = new Map<string, Promise<FailedDeletion[]>>()

  constructor(ledger: Ledger, blocks: Blocks, options: BlockStoreOptions) {
    super(blocks, options)
    this.#ledger = ledger
    this.#blocks = blocks
    this.#options = options
    this.#durability = new Durability(ledger.claims, options.files.fileSystem)
  }

  get backendId(): number {
    return this.#options.backendId
  }

  /**
   * Stores a block for a root. Resolves when the caller may reuse `bytes`. The caller then calls {@link flush} and
   * waits for `durable`. If the block is already stored, checks and repairs the stored bytes. If only private content of
   * others has it, writes it as if it were absent, so that neither time nor quota tells its sender.
   *
   * @param by returns the party that sends the block; undefined for the node itself
   * @throws HoldfastError `STORAGE_FULL` if the disk has no space for the block
   */
  async put(rootId: number, cid: CID, bytes: Uint8Array, by?: () => Possessor): Promise<PutProgress> {
    const { bytes: multihash } = cid.multihash
    const key = keyOfMultihash(multihash)
    const inline = bytes.length <= this.#options.smallBlockBytes ? bytes : null
    let added = false
    const admitted = this.#options.reserve.admit(bytes.length)
    if (admitted !== null) await admitted
    for (;;) {
      const claim = await this.#ledger.claims.claim(rootId, this.backendId, multihash, bytes.length, inline, by)
      added ||= claim.added
      if (claim.outcome === 'healed') this.#options.onHealed(cid)
      if (claim.outcome === 'deleting') {
        // If an earlier deletion of the block has failed, delete the block again before storing it.
        const failed = await (this.#deleting.get(key) ?? this.delete([{ id: claim.blockId, multihash }]))
        const ours = failed.find(({ id }) => id === claim.blockId)
        if (ours !== undefined) throw ours.error
        continue
      }
      if (claim.outcome === 'absent' || claim.outcome === 'hidden') {
        const leader = this.#writing.get(key)
        const write = leader ?? this.#write(key, claim.blockId, cid, bytes)
        try {
          await write.renamed
          return { added, isNew: leader === undefined, durable: write.durable }
        } catch (error) {
          // If the first writer fails, each waiting put writes the block itself.
          if (leader === undefined) throw error
          continue
        }
      }
      if (!claim.inline && (await this.#isDamaged(multihash, bytes))) {
        const write = this.#write(key, claim.blockId, cid, bytes)
        await write.renamed
        if (!this.#options.files.isCache) this.#options.onHealed(cid)
        return { added, isNew: false, durable: write.durable }
      }
      // An earlier put may have written the block without making it durable yet.
      const durable = this.#writing.get(key)?.durable ?? Promise.resolve()
      return { added, isNew: claim.outcome === 'stored', durable }
    }
  }

  /** Returns whether the record's commit can store the block, because its bytes go into the database. */
  async goesWithCommit(multihash: Uint8Array, size: number): Promise<boolean> {
    if (size > this.#options.smallBlockBytes) return false
    const admitted = this.#options.reserve.admit(size)
    if (admitted !== null) await admitted
    const found = this.#blocks.find(this.backendId, multihash)
    return found === undefined || found.inline === 1
  }

  healed(cid: CID): void {
    this.#options.onHealed(cid)
  }

  async hash(bytes: Uint8Array): Promise<MultihashDigest<0x12>> {
    const { threads } = this.#options
    if (threads === undefined || !isShared(bytes)) return sha256(bytes)
    return Digest.create(HASH.sha2_256, await threads.hash(bytes))
  }

  flush(): Promise<void> {
    return this.#durability.flush()
  }

  /**
   * Claims a stored block for a root. Returns null if the store does not have the block, or if the possessor may not
   * use it.
   */
  async adopt(rootId: number, cid: CID, by: Possessor): Promise<{ size: number; added: boolean } | null> {
    const { bytes: multihash } = cid.multihash
    const adopted = await this.#ledger.claims.adopt(rootId, this.backendId, multihash, by)
    if (adopted !== null) await this.#options.files.bring(multihash, adopted.size)
    return adopted
  }

  /** Claims a block like {@link adopt}, but leaves the bytes on the external backend. */
  note(rootId: number, cid: CID, size: number, by: Possessor): Promise<{ size: number; added: boolean } | null> {
    return this.#ledger.claims.note(rootId, this.backendId, cid.multihash.bytes, size, by)
  }

  sizeOf(cid: CID): number | null {
    const found = this.#blocks.find(this.backendId, cid.multihash.bytes)
    return found?.state === 'durable' ? found.size : null
  }

  /**
   * Removes the files of `deleting` blocks, then their rows. Skips blocks that another call is deleting. Returns the
   * blocks that stay `deleting`, because their files could not be removed.
   */
  async delete(blocks: readonly DoomedBlock[]): Promise<FailedDeletion[]> {
    const ours = blocks.filter(block => !this.#deleting.has(keyOfMultihash(block.multihash)))
    const done = this.#deleteFiles(ours)
    for (const block of ours) this.#deleting.set(keyOfMultihash(block.multihash), done)
    try {
      return await done
    } finally {
      for (const block of ours) this.#deleting.delete(keyOfMultihash(block.multihash))
    }
  }

  /** @throws HoldfastError `UNAVAILABLE` if the directory of blocks is missing, replaced or not writable */
  async checkThere(): Promise<void> {
    const problem = await this.#options.files.watch.look()
    if (problem !== null) throw new HoldfastError('UNAVAILABLE', `the directory of blocks ${problem}`)
  }

  directories(): Promise<string[]> {
    return this.#options.files.directories()
  }

  /**
   * Adds rows with the state `deleting` for block files that have no row. A later put of such a block waits for the
   * deletion.
   */
  async claimStrays(directory: string, signal?: AbortSignal): Promise<StoredBlock[]> {
    // If another directory has replaced ours, its files are not ours to delete.
    if ((await this.#options.files.watch.look()) !== null) return []
    const strays = await this.straysIn(directory, signal)
    return strays.length === 0 ? [] : this.#ledger.claims.claimStrays(this.backendId, strays)
  }

  async straysIn(directory: string, signal?: AbortSignal): Promise<Uint8Array[]> {
    const strays: Uint8Array[] = []
    for (const multihash of await this.#options.files.blocksIn(directory)) {
      if (turnSpent()) await nextTurn(signal)
      if (this.#blocks.find(this.backendId, multihash) === undefined) strays.push(multihash)
    }
    return strays
  }

  async #deleteFiles(blocks: readonly DoomedBlock[]): Promise<FailedDeletion[]> {
    const { files, writes } = this.#options
    const removed = new Map<number, string>()
    const failed: FailedDeletion[] = []
    const remove = async ({ id, multihash }: DoomedBlock): Promise<void> => {
      try {
        removed.set(id, await writes.hold(1, () => files.remove(multihash)))
      } catch (error) {
        failed.push({ id, error })
      }
    }
    await Promise.all(blocks.map(remove))
    // A power cut may restore the file. Without a row, nothing would delete it, so the row stays until the sync
    // succeeds.
    const unsynced = await files.sync(new Set(removed.values()))
    const gone: number[] = []
    for (const [id, dir] of removed) {
      if (unsynced.has(dir)) failed.push({ id, error: unsynced.get(dir) })
      else gone.push(id)
    }
    if (gone.length > 0) await this.#ledger.deleted(gone)
    return failed
  }

  /** Registers the write before the first await, so that concurrent puts wait for this write. */
  #write(key: string, blockId: number, cid: CID, bytes: Uint8Array): FileWrite {
    const { files, writes } = this.#options
    const renamed = writes
      .hold(1, () => files.write(cid.multihash.bytes, bytes))
      .catch((cause: unknown) => {
        // The directory may be missing, so check it now instead of at the next interval.
        if (diskTrouble(cause) === null && fileErrorCode(cause) !== undefined) {
          void files.watch.look()
          throw new HoldfastError('UNAVAILABLE', 'the node could not write a block', { cause })
        }
        throw cause
      })
    const durable = renamed.then(dir => this.#durability.add(blockId, dir))
    const write = { renamed, durable }
    this.#writing.set(key, write)
    const forget = (): void => {
      if (this.#writing.get(key) === write) this.#writing.delete(key)
    }
    durable.then(forget, forget)
    return write
  }

  async #isDamaged(multihash: Uint8Array, bytes: Uint8Array): Promise<boolean> {
    const stored = await this.#options.files.stored(multihash, bytes.length).catch((error: unknown) => {
      if (diskTrouble(error) === 'short') throw error
      return null
    })
    return stored === null || Buffer.compare(stored, bytes) !== 0
  }
}
