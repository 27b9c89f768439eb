import { join } from 'node:path'
import type { Catalogue } from '../../src/catalogue/catalogue.ts'
import type { NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/content-catalogue.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import type { StoredBlock } from '../../src/ledger/blocks.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import type { WholeDag } from '../../src/ledger/whole-dag.ts'
import type { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { RepeatingDatabase } from '../support/repeating-database.ts'

const BACKEND = 0
const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }

/** The process ends here, in the model's mind: of what was under way nothing more is written. */
export class Crash extends Error {}

/** A block of the model: one that lives in the database, or one that is a file. */
export interface ModelBlock {
  multihash: Uint8Array
  size: number
  isInline: boolean
}

export interface ModelDag {
  whole: WholeDag
  blocks: readonly ModelBlock[]
}

/** Lets so many writes through and then fails all, as if the process had been killed between two of them. */
class CutQueue extends WriteQueue {
  left = Number.POSITIVE_INFINITY

  override run<T>(work: () => T, options: { durable: boolean; committed?: (value: T) => void }): Promise<T> {
    if (this.left-- <= 0) return Promise.reject(new Crash('the process was killed'))
    return super.run(work, options)
  }
}

/** Ledger and catalogue on one database, with a set in place of the files of blocks; it outlives every crash. */
export class ModelStore {
  readonly #file: string
  readonly files: Set<string>
  readonly db: Database
  readonly #queue: CutQueue
  readonly ledger: Ledger
  readonly blocks: BlockTable
  readonly roots: RootTable
  readonly records: Catalogue['records']

  private constructor(file: string, files: Set<string>) {
    this.#file = file
    this.files = files
    this.db = new RepeatingDatabase(file)
    this.#queue = new CutQueue(this.db)
    this.blocks = new BlockTable(this.db)
    this.roots = new RootTable(this.db)
    const holds = new Holds(this.db, this.roots)
    const claims = new Claims(this.db, this.blocks, this.#queue)
    this.ledger = new Ledger({ claims, blocks: this.blocks, roots: this.roots, holds, queue: this.#queue })
    this.records = sqliteContent(this.db, this.#queue, {
      roots: this.roots,
      holds,
      blocks: this.blocks,
      claims,
    }).records
  }

  static open(dir: string): ModelStore {
    return new ModelStore(join(dir, 'holdfast.db'), new Set())
  }

  /** After so many writes more the process is killed. */
  killAfter(writes: number): void {
    this.#queue.left = writes
  }

  /** Ends this one and opens the next on what is there, as a start does. */
  async reopened(): Promise<ModelStore> {
    this.killAfter(Number.POSITIVE_INFINITY)
    await this.#queue.settled()
    this.db.close()
    const next = new ModelStore(this.#file, this.files)
    await next.#unlink(await next.ledger.recover())
    await next.records.finishRemovals()
    return next
  }

  async close(): Promise<void> {
    await this.#queue.settled()
    this.db.close()
  }

  /** Stages a DAG, writes what is missing of it, and commits records of it all at once. */
  async store(dag: ModelDag, records: readonly NewRecord[], now: number): Promise<string[]> {
    const rootId = await this.ledger.stage(BACKEND, now)
    for (const block of dag.blocks) await this.#put(rootId, block)
    const intents = records.map((record, i) => ({
      kind: 'whole' as const,
      ...{ record, backendId: BACKEND, limits: NO_LIMITS, now, dag: dag.whole },
      stagedRootId: i === 0 ? rootId : null,
    }))
    return (await this.records.commit(intents)).map(({ record }) => record.id)
  }

  /** Frees all that nothing needs. */
  async collect(now: number): Promise<void> {
    for (const rootId of this.ledger.droppedRoots(() => new Set(), this.ledger.lastRoot())) {
      while ((await this.ledger.releaseBatch([rootId], now)) === 0) {}
    }
    for (let more = true; more; ) {
      const batch = await this.ledger.takeGarbage(now, now)
      await this.#unlink(batch.files)
      more = batch.more
    }
  }

  async #put(rootId: number, block: ModelBlock): Promise<void> {
    const { multihash, size, isInline } = block
    const claim = await this.ledger.claims.claim(rootId, BACKEND, multihash, size, isInline ? Buffer.alloc(size) : null)
    if (claim.outcome === 'deleting') {
      await this.#unlink(this.ledger.deleting())
      return this.#put(rootId, block)
    }
    if (claim.outcome !== 'absent') return
    this.files.add(fileOf(multihash))
    await this.ledger.claims.markDurable([claim.blockId])
  }

  async #unlink(blocks: readonly StoredBlock[]): Promise<void> {
    for (const block of blocks) this.files.delete(fileOf(block.multihash))
    await this.ledger.deleted(blocks.map(block => block.id))
  }
}

export function fileOf(multihash: Uint8Array): string {
  return Buffer.from(multihash).toString('hex')
}
