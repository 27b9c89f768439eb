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
  /** Blocks of at most this many bytes live in the database; 0 for none. */
  smallBlockBytes: number
  /** Hash chunks in shared memory; without them libuv's pool does. */
  threads?: BlockThreads
  /** Bounds the files being written at once, over all stores that share a thread pool. */
  writes: Semaphore
  /** Refuses content that the disk has no room for. */
  reserve: Pick<DiskReserve, 'admit'>
  onHealed: (cid: CID) => void
  onDamaged: (cid: CID, reason: string) => void
}

/** What a put tells before the block is durable. */
export interface PutProgress {
  /** Whether the root needed this block for the first time. */
  added: boolean
  /** Whether the store did not have the block. */
  isNew: boolean
  /** Resolves when the block is durable, up to the next durable commit of the ledger. */
  durable: Promise<void>
}

interface FileWrite {
  renamed: Promise<unknown>
  durable: Promise<void>
}

/**
 * The blocks of one backend: bytes go in under a claim of the ledger and come out checked against it. Concurrent
 * puts of one block write it once.
 */
export class BlockStore extends StoredBlocks {
  readonly #options: BlockStoreOptions
  readonly #ledger: Ledger
  readonly #blocks: Blocks
  readonly #durability: Durability
  /** Files being written, by multihash: there is one writer of a block at a time, and followers. */
  readonly #writing = new Map<string, FileWrite>()
  /** Files being deleted: by multihash, resolved when the ledger has forgotten them. */
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
   * Stores a block for a root. Resolves when `bytes` are no longer needed; the caller then waits for `durable`,
   * after a {@link flush}. Where the block is already there its bytes are compared, and put right if damaged.
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
        // A deletion that has failed is nobody's any more until somebody needs it done.
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
          // Whoever followed a write that failed writes the block itself.
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
      // It may be there by a write that is not durable yet.
      const durable = this.#writing.get(key)?.durable ?? Promise.resolve()
      return { added, isNew: claim.outcome === 'stored', durable }
    }
  }

  /** Whether a block may be stored by the commit of its record: one that lives in the database, or would. */
  async goesWithCommit(multihash: Uint8Array, size: number): Promise<boolean> {
    if (size > this.#options.smallBlockBytes) return false
    const admitted = this.#options.reserve.admit(size)
    if (admitted !== null) await admitted
    const found = this.#blocks.find(this.backendId, multihash)
    return found === undefined || found.inline === 1
  }

  /** Tells of a damaged block that a commit has put right. */
  healed(cid: CID): void {
    this.#options.onHealed(cid)
  }

  /** The multihash of a block that is to be put. */
  async hash(bytes: Uint8Array): Promise<MultihashDigest<0x12>> {
    const { threads } = this.#options
    if (threads === undefined || !isShared(bytes)) return sha256(bytes)
    return Digest.create(HASH.sha2_256, await threads.hash(bytes))
  }

  /** Makes durable what has been put so far. */
  flush(): Promise<void> {
    return this.#durability.flush()
  }

  /** Notes that a root needs a block which is here already. Null if it is not. */
  async adopt(rootId: number, cid: CID): Promise<{ size: number; added: boolean } | null> {
    const { bytes: multihash } = cid.multihash
    const adopted = await this.#ledger.claims.adopt(rootId, this.backendId, multihash)
    if (adopted !== null) await this.#options.files.bring(multihash, adopted.size)
    return adopted
  }

  /** As {@link adopt}, of a block that the backend has elsewhere and that does not come here. Null if it has to. */
  note(rootId: number, cid: CID, size: number): Promise<{ size: number; added: boolean } | null> {
    return this.#ledger.claims.note(rootId, this.backendId, cid.multihash.bytes, size)
  }

  has(cid: CID): boolean {
    return this.#blocks.find(this.backendId, cid.multihash.bytes)?.state === 'durable'
  }

  /** Bytes, if the ledger has the block; null otherwise. */
  sizeOf(cid: CID): number | null {
    const found = this.#blocks.find(this.backendId, cid.multihash.bytes)
    return found?.state === 'durable' ? found.size : null
  }

  /**
   * Removes the files of blocks that the ledger calls `deleting`, then has it forget them; those that are being
   * removed already are left to it. Returns those whose files could not be removed: they stay `deleting`.
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

  /** @throws HoldfastError `UNAVAILABLE` while the directory of blocks is gone, replaced or not to be written */
  async checkThere(): Promise<void> {
    const problem = await this.#options.files.watch.look()
    if (problem !== null) throw new HoldfastError('UNAVAILABLE', `the directory of blocks ${problem}`)
  }

  /** The directories of block files, for {@link claimStrays}. */
  directories(): Promise<string[]> {
    return this.#options.files.directories()
  }

  /**
   * Looks through one directory for files of blocks that the ledger does not know, and has it call them `deleting`.
   * From then on they are like every block that is to go, and whoever puts such a block waits for that.
   */
  async claimStrays(directory: string): Promise<StoredBlock[]> {
    // Files in a directory that was put in the place of ours are not ours to remove.
    if ((await this.#options.files.watch.look()) !== null) return []
    const strays = await this.straysIn(directory)
    return strays.length === 0 ? [] : this.#ledger.claims.claimStrays(this.backendId, strays)
  }

  /** The multihashes of files in one directory that are of blocks which the ledger does not know. */
  async straysIn(directory: string): Promise<Uint8Array[]> {
    const strays: Uint8Array[] = []
    for (const multihash of await this.#options.files.blocksIn(directory)) {
      if (turnSpent()) await nextTurn()
      if (this.#blocks.find(this.backendId, multihash) === undefined) strays.push(multihash)
    }
    return strays
  }

  /** Each file for itself: one that cannot be removed keeps its row, and none of the others. */
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
    // A name that a power cut brings back must still have a row, or nobody would ever look for it.
    const unsynced = await files.sync(new Set(removed.values()))
    const gone: number[] = []
    for (const [id, dir] of removed) {
      if (unsynced.has(dir)) failed.push({ id, error: unsynced.get(dir) })
      else gone.push(id)
    }
    if (gone.length > 0) await this.#ledger.deleted(gone)
    return failed
  }

  /** Writes as the leader; registered before anything is awaited, so that followers find it. */
  #write(key: string, blockId: number, cid: CID, bytes: Uint8Array): FileWrite {
    const { files, writes } = this.#options
    const renamed = writes
      .hold(1, () => files.write(cid.multihash.bytes, bytes))
      .catch((cause: unknown) => {
        // Before the next of the regular looks: the directory may be gone.
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

  /** Whether a file is not what it should be; one that cannot be read at all is not. */
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
