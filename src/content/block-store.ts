import type { MultihashDigest } from 'multiformats'
import type { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import type { Semaphore } from '../concurrency/semaphore.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { sha256 } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type BlockFiles, Durability } from './block-files.ts'
import { type BlockThreads, isShared } from './block-threads.ts'
import type { DoomedBlock, FailedDeletion } from './deletion.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { StoredBlocks } from './stored-blocks.ts'

export interface BlockStoreOptions {
  backendId: number
  files: BlockFiles
  /** Largest block that is stored in the database; 0 for none. */
  smallBlockBytes: number
  /** Threads that hash chunks in shared memory; without them libuv's pool does. */
  threads?: BlockThreads
  /** Limit of concurrent file writes, over all stores that share a thread pool. */
  writes: Semaphore
  /** Refuses content if the disk has no room for it. */
  reserve: Pick<DiskReserve, 'admit'>
  onHealed: (cid: CID) => void
  onDamaged: (cid: CID, reason: string) => void
}

/** Result of a put before the block is durable. */
export interface PutProgress {
  /** True if this put is the first of the root for the block. */
  added: boolean
  /** True if the store did not have the block. */
  isNew: boolean
  /** Resolves when the block is durable, up to the next durable commit of the ledger. */
  durable: Promise<void>
}

interface FileWrite {
  renamed: Promise<unknown>
  durable: Promise<void>
}

/**
 * The blocks of one backend. The ledger claims each block before its bytes are written. Concurrent puts of one block
 * write it once.
 */
export class BlockStore extends StoredBlocks {
  readonly #options: BlockStoreOptions
  readonly #ledger: Ledger
  readonly #blocks: Blocks
  readonly #durability: Durability
  /** Files being written, by multihash: each block has one writer, and others wait for it. */
  readonly #writing = new Map<string, FileWrite>()
  /** Files being deleted, by multihash; resolves when their rows are deleted. */
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
   * Stores a block for a root. Resolves when `bytes` are no longer needed; the caller then waits for `durable`, after a
   * {@link flush}. If the store has the block already, compares the bytes and repairs damage.
   *
   * @throws HoldfastError `STORAGE_FULL` if the disk has no room for them
   */
  async put(rootId: number, cid: CID, bytes: Uint8Array): Promise<PutProgress> {
    const { bytes: multihash } = cid.multihash
    const key = keyOf(multihash)
    const inline = bytes.length <= this.#options.smallBlockBytes ? bytes : null
    let added = false
    const admitted = this.#options.reserve.admit(bytes.length)
    if (admitted !== null) await admitted
    for (;;) {
      const claim = await this.#ledger.claims.claim(rootId, this.backendId, multihash, bytes.length, inline)
      added ||= claim.added
      if (claim.outcome === 'healed') this.#options.onHealed(cid)
      if (claim.outcome === 'deleting') {
        // A failed deletion has no owner until a put needs it finished.
        const failed = await (this.#deleting.get(key) ?? this.delete([{ id: claim.blockId, multihash }]))
        const ours = failed.find(({ id }) => id === claim.blockId)
        if (ours !== undefined) throw ours.error
        continue
      }
      if (claim.outcome === 'absent') {
        const leader = this.#writing.get(key)
        const write = leader ?? this.#write(key, claim.blockId, cid, bytes)
        try {
          await write.renamed
          return { added, isNew: leader === undefined, durable: write.durable }
        } catch (error) {
          // If the first writer fails, each waiting caller writes the block itself.
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
      // The block may come from a write that is not durable yet.
      const durable = this.#writing.get(key)?.durable ?? Promise.resolve()
      return { added, isNew: claim.outcome === 'stored', durable }
    }
  }

  /** Returns true if the commit of the record may store the block: its bytes are, or would be, in the database. */
  async goesWithCommit(multihash: Uint8Array, size: number): Promise<boolean> {
    if (size > this.#options.smallBlockBytes) return false
    const admitted = this.#options.reserve.admit(size)
    if (admitted !== null) await admitted
    const found = this.#blocks.find(this.backendId, multihash)
    return found === undefined || found.inline === 1
  }

  /** Reports a damaged block that a commit has repaired. */
  healed(cid: CID): void {
    this.#options.onHealed(cid)
  }

  /** Returns the multihash of a block before it is put. */
  async hash(bytes: Uint8Array): Promise<MultihashDigest<0x12>> {
    const { threads } = this.#options
    if (threads === undefined || !isShared(bytes)) return sha256(bytes)
    return Digest.create(HASH.sha2_256, await threads.hash(bytes))
  }

  /** Makes all blocks put so far durable. */
  flush(): Promise<void> {
    return this.#durability.flush()
  }

  /** Claims a block that the store has for a root. Returns null if it does not have it. */
  async adopt(rootId: number, cid: CID): Promise<{ size: number; added: boolean } | null> {
    const { bytes: multihash } = cid.multihash
    const adopted = await this.#ledger.claims.adopt(rootId, this.backendId, multihash)
    if (adopted !== null) await this.#options.files.bring(multihash, adopted.size)
    return adopted
  }

  /**
   * Claims like {@link adopt}, for a block that stays on the external backend. Returns null if the caller has to fetch
   * it.
   */
  note(rootId: number, cid: CID, size: number): Promise<{ size: number; added: boolean } | null> {
    return this.#ledger.claims.note(rootId, this.backendId, cid.multihash.bytes, size)
  }

  has(cid: CID): boolean {
    return this.#blocks.find(this.backendId, cid.multihash.bytes)?.state === 'durable'
  }

  /** Returns the bytes of a durable block; null otherwise. */
  sizeOf(cid: CID): number | null {
    const found = this.#blocks.find(this.backendId, cid.multihash.bytes)
    return found?.state === 'durable' ? found.size : null
  }

  /**
   * Removes the files of `deleting` blocks, then their rows. Skips blocks whose deletion is running. Returns the blocks
   * whose files could not be removed; they stay `deleting`.
   */
  async delete(blocks: readonly DoomedBlock[]): Promise<FailedDeletion[]> {
    const ours = blocks.filter(block => !this.#deleting.has(keyOf(block.multihash)))
    const done = this.#deleteFiles(ours)
    for (const block of ours) this.#deleting.set(keyOf(block.multihash), done)
    try {
      return await done
    } finally {
      for (const block of ours) this.#deleting.delete(keyOf(block.multihash))
    }
  }

  /** @throws HoldfastError `UNAVAILABLE` while the directory of blocks is gone, replaced or not writable */
  async checkThere(): Promise<void> {
    const problem = await this.#options.files.watch.look()
    if (problem !== null) throw new HoldfastError('UNAVAILABLE', `the directory of blocks ${problem}`)
  }

  /** Returns the directories of block files, for {@link claimStrays}. */
  directories(): Promise<string[]> {
    return this.#options.files.directories()
  }

  /**
   * Finds files in one directory whose blocks have no row, and adds the rows as `deleting`. From then on a put of such
   * a block waits for its deletion.
   */
  async claimStrays(directory: string): Promise<StoredBlock[]> {
    // Files in a directory that replaced ours must stay.
    if ((await this.#options.files.watch.look()) !== null) return []
    const strays = await this.straysIn(directory)
    return strays.length === 0 ? [] : this.#ledger.claims.claimStrays(this.backendId, strays)
  }

  /** Returns the multihashes of files in one directory whose blocks have no row. */
  async straysIn(directory: string): Promise<Uint8Array[]> {
    const strays: Uint8Array[] = []
    for (const multihash of await this.#options.files.blocksIn(directory)) {
      if (turnSpent()) await nextTurn()
      if (this.#blocks.find(this.backendId, multihash) === undefined) strays.push(multihash)
    }
    return strays
  }

  /** Removes each file on its own: one that fails keeps its row, and the others lose theirs. */
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
    // A power cut may bring the name back; without a row nothing would ever remove that file.
    const unsynced = await files.sync(new Set(removed.values()))
    const gone: number[] = []
    for (const [id, dir] of removed) {
      if (unsynced.has(dir)) failed.push({ id, error: unsynced.get(dir) })
      else gone.push(id)
    }
    if (gone.length > 0) await this.#ledger.deleted(gone)
    return failed
  }

  /** Writes a block as its only writer. Registers the write before the first await, so that other puts find it. */
  #write(key: string, blockId: number, cid: CID, bytes: Uint8Array): FileWrite {
    const { files, writes } = this.#options
    const renamed = writes
      .hold(1, () => files.write(cid.multihash.bytes, bytes))
      .catch((cause: unknown) => {
        // Checks at once, not at the next interval: the directory may be gone.
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

  /** Returns true if a file has other bytes or cannot be read. */
  async #isDamaged(multihash: Uint8Array, bytes: Uint8Array): Promise<boolean> {
    const stored = await this.#options.files.stored(multihash, bytes.length).catch((error: unknown) => {
      if (diskTrouble(error) === 'short') throw error
      return null
    })
    return stored === null || Buffer.compare(stored, bytes) !== 0
  }
}

function keyOf(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}
