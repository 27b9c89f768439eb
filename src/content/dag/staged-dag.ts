import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'
import type { NewBlock } from '../../ledger/blocks.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Possessor } from '../../ledger/possessor.ts'
import type { DagSizes, RootFile } from '../../ledger/whole-dag.ts'
import { type BlockStore, chargeOf } from '../block-store.ts'
import { memoryOf } from '../block-threads.ts'

/** Maximum bytes of one staged DAG's blocks that wait to be written. */
const WINDOW_BYTES = 8 * 1024 ** 2
/** Bytes that each block adds to its own size in {@link WINDOW_BYTES}. */
const BLOCK_WEIGHT = 16 * 1024
const FILE_BATCH = 200
const BLOCK_BATCH = 200

/**
 * A DAG that is being stored, invisible to readers. {@link put} resolves before the block is durable, {@link settle} when
 * all blocks are. The creator completes the root, or calls {@link abandon}, which makes the blocks garbage.
 */
export class StagedDag {
  readonly store: BlockStore
  #root: { id: number } | { begin: () => Promise<number> }
  #beginning: Promise<void> | null = null
  #onlyBlock: (NewBlock & { cid: CID }) | null = null
  readonly #ledger: Ledger
  readonly #by: (() => Possessor) | undefined
  readonly #window = new Semaphore(WINDOW_BYTES)
  readonly #pending = new Set<Promise<void>>()
  #failure: { error: unknown } | null = null
  #dagSize = 0
  #blockCount = 0
  #charge = 0
  #newCharge = 0
  #files: RootFile[] = []
  #fileCount = 0

  /**
   * @param root id of a staging root, or a function that creates the root when it is first needed
   * @param by returns the party that sends the blocks; undefined for the node itself
   */
  constructor(root: number | (() => Promise<number>), store: BlockStore, ledger: Ledger, by?: () => Possessor) {
    this.#root = typeof root === 'number' ? { id: root } : { begin: root }
    this.store = store
    this.#ledger = ledger
    this.#by = by
  }

  /** @throws HoldfastError `INTERNAL_ERROR` if the root has not been created yet */
  get rootId(): number {
    if ('id' in this.#root) return this.#root.id
    throw new HoldfastError('INTERNAL_ERROR', 'the staged DAG has not been begun')
  }

  /** The only block so far, while it is held back. */
  get onlyBlock(): NewBlock | null {
    return this.#onlyBlock
  }

  /** Creates the root if needed, and stores the block that was held back for the commit. */
  async begin(): Promise<void> {
    if (!('begin' in this.#root)) return
    this.#beginning ??= this.#begin(this.#root.begin)
    await this.#beginning
  }

  get dagSize(): number {
    return this.#dagSize
  }

  get blockCount(): number {
    return this.#blockCount
  }

  get charge(): number {
    return this.#charge
  }

  /** Charge of the blocks that the store did not have before. */
  get newCharge(): number {
    return this.#newCharge
  }

  /** Returns the sizes of the DAG. The caller must have put all blocks. */
  sizes(contentSize: number): DagSizes {
    const { dagSize, blockCount: blocks, charge, fileCount } = this
    return { contentSize, dagSize, blocks, charge, fileCount }
  }

  get fileCount(): number {
    return this.#fileCount + this.#files.length
  }

  /**
   * Puts a block. Waits while too many bytes are in progress.
   * @param release called exactly once, when the caller may change or reuse `bytes`
   * @throws the error of this block or of an earlier block
   */
  async put(cid: CID, bytes: Uint8Array, release?: () => void): Promise<CID> {
    if (cid.multihash.code === HASH.identity) {
      release?.()
      return cid
    }
    if ('begin' in this.#root) {
      try {
        if (await this.#keepBack(cid, bytes)) {
          release?.()
          return cid
        }
        await this.begin()
      } catch (error) {
        release?.()
        throw error
      }
    }
    const weight = memoryOf(bytes) + BLOCK_WEIGHT
    const wait = this.#window.acquire(weight)
    if (wait !== null) await wait
    if (this.#failure !== null) {
      this.#window.release(weight)
      release?.()
      throw this.#failure.error
    }
    this.#track(this.#store(cid, bytes, weight, release))
    return cid
  }

  /** Returns whether the DAG has claimed a block. */
  has(cid: CID): boolean {
    return 'id' in this.#root && this.#ledger.hasClaimed(this.rootId, this.store.backendId, cid.multihash.bytes)
  }

  /** Returns a block that the DAG has claimed. @throws HoldfastError `NOT_FOUND`, `BLOCK_DAMAGED` */
  async get(cid: CID, options?: Parameters<BlockStore['get']>[1]): Promise<Uint8Array> {
    if (cid.multihash.code !== HASH.identity && !this.has(cid)) {
      throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    }
    return this.store.get(cid, options)
  }

  /**
   * Claims a block that the backend already stores for another root.
   * @throws HoldfastError `CID_NOT_FOUND` if the backend does not have the block, or if the possessor may not use it
   */
  async adopt(cid: CID, by: Possessor): Promise<void> {
    if (cid.multihash.code === HASH.identity) return
    await this.begin()
    const adopted = await this.store.adopt(this.rootId, cid, by)
    if (adopted === null) throw new HoldfastError('CID_NOT_FOUND', `block ${cid} is not on this node`)
    if (adopted.added) this.#count(adopted.size)
  }

  /** Claims a block without fetching it. Returns its size in bytes, or null if the block must be fetched. */
  async note(cid: CID, size: number, by: Possessor): Promise<number | null> {
    const noted = await this.store.note(this.rootId, cid, size, by)
    if (noted?.added) this.#count(noted.size)
    return noted?.size ?? null
  }

  /** Records whether the external backend has the whole DAG. If so, this node needs no copy of its own. */
  setPlaced(isPlaced: boolean): Promise<void> {
    return this.#ledger.setPlaced(this.rootId, isPlaced ? 0 : null)
  }

  async clearFiles(): Promise<void> {
    this.#files = []
    this.#fileCount = 0
    await this.begin()
    await this.#ledger.clearFiles(this.rootId)
  }

  async addFile(path: string, cid: CID, size: number): Promise<void> {
    this.#files.push({ path, codec: cid.code, multihash: cid.multihash.bytes, size })
    if (this.#files.length >= FILE_BATCH) await this.#flushFiles()
  }

  /** Requires {@link settle} first. */
  *files(): Generator<RootFile, void, undefined> {
    for (let offset = 0; offset < this.#fileCount; offset += FILE_BATCH) {
      yield* this.#ledger.files(this.rootId, offset, FILE_BATCH)
    }
  }

  /** Yields the multihashes in any order. Requires {@link begin} and {@link settle} first. */
  *multihashes(): Generator<Uint8Array, void, undefined> {
    for (let last = 0; ; ) {
      const blocks = this.#ledger.neededAfter(this.rootId, last, BLOCK_BATCH)
      for (const { multihash } of blocks) yield multihash
      last = blocks.at(-1)?.id ?? last
      if (blocks.length < BLOCK_BATCH) return
    }
  }

  /** Takes the listed files of another staged DAG, which must be settled and have the same content. */
  async takeFilesOf(other: StagedDag): Promise<void> {
    await this.begin()
    await this.#ledger.moveFiles(other.rootId, this.rootId)
    this.#fileCount = other.fileCount
  }

  /** Waits until all blocks put so far are durable. @throws the first error of any block */
  async settle(): Promise<void> {
    await this.#beginning
    await this.#flushFiles()
    await this.#drain()
    if (this.#failure !== null) throw this.#failure.error
  }

  /** Closes the settled blocks to strangers, before the root completes as one of an account. */
  async close(): Promise<void> {
    if ('id' in this.#root) await this.#ledger.close(this.#root.id)
  }

  /** Drops the staged root, unless it is complete. Never throws: an error would hide the caller's error. */
  async abandon(): Promise<void> {
    // Reject chunks that are still being hashed, because nothing would release the claims of a deleted root.
    this.#failure ??= { error: new HoldfastError('ABORTED', 'the staged DAG has been abandoned') }
    this.#onlyBlock = null
    await this.#beginning?.catch(() => undefined)
    await this.#drain()
    if ('id' in this.#root) await this.#ledger.abandon(this.#root.id).catch(() => undefined)
  }

  async #begin(begin: () => Promise<number>): Promise<void> {
    this.#root = { id: await begin() }
    const block = this.#onlyBlock
    if (block === null) return
    this.#onlyBlock = null
    this.#blockCount = this.#dagSize = this.#charge = 0
    // A block that was held back has not acquired its room in the window yet.
    const weight = memoryOf(block.bytes) + BLOCK_WEIGHT
    await this.#window.acquire(weight)
    this.#track(this.#store(block.cid, block.bytes, weight))
  }

  /** Holds the first block back if the record's commit can store the block. */
  async #keepBack(cid: CID, bytes: Uint8Array): Promise<boolean> {
    const isFirst = (): boolean => this.#onlyBlock === null && this.#beginning === null
    const mayWait = isFirst() && (await this.store.goesWithCommit(cid.multihash.bytes, bytes.length))
    // If the DAG was abandoned in the meantime, throw, because nothing would drop a root that is created now.
    if (this.#failure !== null) throw this.#failure.error
    if (!mayWait || !isFirst()) return false
    this.#onlyBlock = { cid, multihash: cid.multihash.bytes, bytes: Uint8Array.from(bytes) }
    this.#count(bytes.length)
    return true
  }

  #count(size: number): void {
    this.#blockCount++
    this.#dagSize += size
    this.#charge += chargeOf(size)
  }

  async #store(cid: CID, bytes: Uint8Array, weight: number, release?: () => void): Promise<void> {
    let durable: Promise<void>
    try {
      const progress = await this.store.put(this.rootId, cid, bytes, this.#by)
      if (progress.added) this.#count(bytes.length)
      if (progress.isNew) this.#newCharge += chargeOf(bytes.length)
      durable = progress.durable
    } finally {
      release?.()
      this.#window.release(weight)
    }
    await durable
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#pending.delete(tracked))
    this.#pending.add(tracked)
  }

  /** Flushes until no block is pending. A flush can free the room in the window that other blocks wait for. */
  async #drain(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.race([Promise.all(this.#pending), this.#allRenamed()])
      await this.store.flush()
    }
  }

  async #allRenamed(): Promise<void> {
    await this.#window.hold(WINDOW_BYTES, async () => undefined)
  }

  async #flushFiles(): Promise<void> {
    const files = this.#files.splice(0)
    if (files.length === 0) return
    await this.begin()
    const position = this.#fileCount
    this.#fileCount += files.length
    await this.#ledger.addFiles(this.rootId, position, files)
  }
}
