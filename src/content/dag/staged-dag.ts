import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/semaphore.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'
import type { NewBlock } from '../../ledger/blocks.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { DagSizes, RootFile } from '../../ledger/whole-dag.ts'
import type { BlockStore } from '../block-store.ts'
import { memoryOf } from '../block-threads.ts'

/** Bytes that one staged DAG may have on their way to the disk. */
const WINDOW_BYTES = 8 * 1024 ** 2
/** What each block weighs in the window beside its bytes, so that of tiny ones 512 are on their way. */
const BLOCK_WEIGHT = 16 * 1024
/** File rows collected before they are written. */
const FILE_BATCH = 200
/** Blocks that are looked up at a time where all are gone through. */
const BLOCK_BATCH = 200

/** What a block takes of a disk however few bytes it has: its row, its needs, its place in the indexes. */
const LEAST_CHARGE = 512

/** What a block of so many bytes counts against a quota, in bytes. */
export function chargeOf(size: number): number {
  return Math.max(size, LEAST_CHARGE)
}

/**
 * A DAG that is being stored and that nothing shows yet. Blocks go in by {@link put}, which returns early and keeps
 * a bounded number on their way; {@link settle} waits for all of them to be durable. Whoever staged it either has
 * its root completed or calls {@link abandon}, after which its blocks are garbage.
 */
export class StagedDag {
  readonly store: BlockStore
  #root: { id: number } | { begin: () => Promise<number> }
  #beginning: Promise<void> | null = null
  #onlyBlock: (NewBlock & { cid: CID }) | null = null
  readonly #ledger: Ledger
  readonly #window = new Semaphore(WINDOW_BYTES)
  readonly #pending = new Set<Promise<void>>()
  #failure: { error: unknown } | null = null
  #dagSize = 0
  #blockCount = 0
  #charge = 0
  #newCharge = 0
  #files: RootFile[] = []
  #fileCount = 0

  /** @param root the id of a staging root, or what begins one once that is needed */
  constructor(root: number | (() => Promise<number>), store: BlockStore, ledger: Ledger) {
    this.#root = typeof root === 'number' ? { id: root } : { begin: root }
    this.store = store
    this.#ledger = ledger
  }

  /** Of the staging root, which has been begun. */
  get rootId(): number {
    if ('id' in this.#root) return this.#root.id
    throw new HoldfastError('INTERNAL_ERROR', 'the staged DAG has not been begun')
  }

  /** The block that is all that has arrived: it is stored by the commit, or once another one comes. */
  get onlyBlock(): NewBlock | null {
    return this.#onlyBlock
  }

  /** Begins the root if that has still to be done, and stores the block that has waited for that. */
  async begin(): Promise<void> {
    if (!('begin' in this.#root)) return
    this.#beginning ??= this.#begin(this.#root.begin)
    await this.#beginning
  }

  /** Bytes of the distinct blocks that have arrived so far. */
  get dagSize(): number {
    return this.#dagSize
  }

  /** The distinct blocks that have arrived so far. */
  get blockCount(): number {
    return this.#blockCount
  }

  /** What the distinct blocks that have arrived so far count against a quota, in bytes. */
  get charge(): number {
    return this.#charge
  }

  /** What the blocks that were not here before count against a quota, in bytes. */
  get newCharge(): number {
    return this.#newCharge
  }

  /** How much it is, once all of it has arrived and its content is known. */
  sizes(contentSize: number): DagSizes {
    const { dagSize, blockCount, charge, fileCount } = this
    return { contentSize, dagSize, blocks: blockCount, charge, fileCount }
  }

  get fileCount(): number {
    return this.#fileCount + this.#files.length
  }

  /**
   * Takes a block in. Waits while too much is on its way.
   *
   * @param release called once, whatever comes of it, when `bytes`, which must not change until then, are no longer
   * needed
   * @throws the error of this or an earlier block.
   */
  async put(cid: CID, bytes: Uint8Array, release?: () => void): Promise<CID> {
    if (cid.multihash.code === HASH.identity) {
      release?.()
      return cid
    }
    if ('begin' in this.#root) {
      try {
        if (await this.#keptBack(cid, bytes)) {
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

  /**
   * Needs a block that the backend already holds for another root.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if it does not.
   */
  async adopt(cid: CID): Promise<void> {
    if (cid.multihash.code === HASH.identity) return
    await this.begin()
    const adopted = await this.store.adopt(this.rootId, cid)
    if (adopted === null) throw new HoldfastError('CID_NOT_FOUND', `block ${cid} is not here`)
    if (adopted.added) this.#count(adopted.size)
  }

  /** Needs a block of so many bytes that the backend has elsewhere. Null if it has to come: it is written or deleted here. */
  async note(cid: CID, size: number): Promise<number | null> {
    const noted = await this.store.note(this.rootId, cid, size)
    if (noted?.added === true) this.#count(noted.size)
    return noted?.size ?? null
  }

  /** Whether the backend has all of it elsewhere, so that nothing of it need be here. */
  setPlaced(isPlaced: boolean): Promise<void> {
    return this.#ledger.setPlaced(this.rootId, isPlaced ? 0 : null)
  }

  /** Forgets the files noted so far, of an earlier attempt too. */
  async clearFiles(): Promise<void> {
    this.#files = []
    this.#fileCount = 0
    await this.begin()
    await this.#ledger.clearFiles(this.rootId)
  }

  /** Notes a file of the directory that is being stored. */
  async addFile(path: string, cid: CID, size: number): Promise<void> {
    this.#files.push({ path, codec: cid.code, multihash: cid.multihash.bytes, size })
    if (this.#files.length >= FILE_BATCH) await this.#flushFiles()
  }

  /** The files that have been noted, in order. For one that has been settled. */
  *files(): Generator<RootFile, void, undefined> {
    for (let offset = 0; offset < this.#fileCount; offset += FILE_BATCH) {
      yield* this.#ledger.files(this.rootId, offset, FILE_BATCH)
    }
  }

  /** The multihashes of the blocks that have arrived, in no order. For one that has been begun and settled. */
  *multihashes(): Generator<Uint8Array, void, undefined> {
    for (let last = 0; ; ) {
      const blocks = this.#ledger.neededAfter(this.rootId, last, BLOCK_BATCH)
      for (const { id, multihash } of blocks) {
        last = id
        yield multihash
      }
      if (blocks.length < BLOCK_BATCH) return
    }
  }

  /** Takes over the files noted for another staged DAG of the same content, which has been settled. */
  async takeFilesOf(other: StagedDag): Promise<void> {
    await this.begin()
    await this.#ledger.moveFiles(other.rootId, this.rootId)
    this.#fileCount = other.fileCount
  }

  /** Waits until everything put so far is durable. @throws the first error of any block. */
  async settle(): Promise<void> {
    await this.#beginning
    await this.#flushFiles()
    await this.#drain()
    if (this.#failure !== null) throw this.#failure.error
  }

  /**
   * Gives up what has been stored, unless the root has been completed. Safe at any time, and more than once. Never throws:
   * the next start gives up what the ledger cannot give up now, and the caller's own outcome counts.
   */
  async abandon(): Promise<void> {
    // A chunk that is still being hashed comes too late: a claim for a root that is gone would never be released.
    this.#failure ??= { error: new HoldfastError('ABORTED', 'the staged DAG has been given up') }
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
    // Its place in the window is taken as if it came now.
    const weight = memoryOf(block.bytes) + BLOCK_WEIGHT
    await this.#window.acquire(weight)
    this.#track(this.#store(block.cid, block.bytes, weight))
  }

  /** Keeps the first block until it is known whether there is another, if a commit may store it. */
  async #keptBack(cid: CID, bytes: Uint8Array): Promise<boolean> {
    const { bytes: multihash } = cid.multihash
    const isFirst = (): boolean => this.#onlyBlock === null && this.#beginning === null
    const mayWait = isFirst() && (await this.store.goesWithCommit(multihash, bytes.length))
    // A root that is begun from here on would be nobody's.
    if (this.#failure !== null) throw this.#failure.error
    if (!mayWait || !isFirst()) return false
    this.#onlyBlock = { cid, multihash, bytes: Uint8Array.from(bytes) }
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
      const progress = await this.store.put(this.rootId, cid, bytes)
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

  /** Blocks become durable in groups, and later ones may only be renamed once earlier ones have left the window. */
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
