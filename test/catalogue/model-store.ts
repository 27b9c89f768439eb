import { join } from 'node:path'
import type { Catalogue } from '../../src/catalogue/catalogue.ts'
import type { NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
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
export class Cuts {
  left = Number.POSITIVE_INFINITY

  /** @throws Crash once there are none left */
  pass(): void {
    if (this.left-- <= 0) throw new Crash('the process was killed')
  }
}

class CutQueue extends WriteQueue {
  readonly #cuts: Cuts

  constructor(db: Database, cuts: Cuts) {
    super(db)
    this.#cuts = cuts
  }

  override async run<T>(work: () => T, options: { durable: boolean; committed?: (value: T) => void }): Promise<T> {
    this.#cuts.pass()
    return super.run(work, options)
  }
}

/** What a model's ledger is made of. */
export interface LedgerParts {
  db: Database
  queue: WriteQueue
  ledger: Ledger
  blocks: BlockTable
  roots: RootTable
  holds: Holds
  claims: Claims
}

function openLedger(file: string, cuts: Cuts): LedgerParts {
  const db = new RepeatingDatabase(file)
  const queue = new CutQueue(db, cuts)
  const blocks = new BlockTable(db)
  const roots = new RootTable(db)
  const holds = new Holds(db, roots)
  const claims = new Claims(db, blocks, queue)
  return { db, queue, ledger: new Ledger({ claims, blocks, roots, holds, queue }), blocks, roots, holds, claims }
}

/** Where the records of a model's store are. */
export interface ModelCatalogue {
  records: Catalogue['records']
  /** Begins with nothing but accounts. */
  begin(accounts: readonly string[]): Promise<void>
  /** Lets go of what a process that was killed has left held for nobody, however short ago that was. */
  reconcile(): Promise<void>
  /** Rows of tables that are empty once there is nothing. */
  left(): Promise<Record<string, number>>
}

/** A catalogue on a ledger, for each time that this is opened. */
export type MakeCatalogue = (ledger: LedgerParts, cuts: Cuts) => Promise<ModelCatalogue>

/** Ledger and catalogue in the ledger's database. */
export const inSqlite: MakeCatalogue = async parts => {
  const { db } = parts
  const add = "INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'x', 'user', 0)"
  return {
    records: sqliteContent(db, parts.queue, parts).records,
    begin: async accounts => {
      for (const id of accounts) db.prepare<[string, string]>(add).run(id, id)
    },
    reconcile: async () => undefined,
    left: async () => ({}),
  }
}

/** Ledger and catalogue, with a set in place of the files of blocks; it outlives every crash. */
export class ModelStore {
  readonly #file: string
  readonly #make: MakeCatalogue
  readonly files: Set<string>
  readonly db: Database
  readonly #cuts: Cuts
  readonly #queue: WriteQueue
  readonly ledger: Ledger
  readonly blocks: BlockTable
  readonly roots: RootTable
  readonly catalogue: ModelCatalogue

  private constructor(
    { file, files, cuts, make }: { file: string; files: Set<string>; cuts: Cuts; make: MakeCatalogue },
    parts: LedgerParts,
    catalogue: ModelCatalogue,
  ) {
    this.#file = file
    this.#make = make
    this.files = files
    this.#cuts = cuts
    this.db = parts.db
    this.#queue = parts.queue
    this.ledger = parts.ledger
    this.blocks = parts.blocks
    this.roots = parts.roots
    this.catalogue = catalogue
  }

  static async open(dir: string, make: MakeCatalogue): Promise<ModelStore> {
    return ModelStore.#on(join(dir, 'holdfast.db'), new Set(), make)
  }

  static async #on(file: string, files: Set<string>, make: MakeCatalogue): Promise<ModelStore> {
    const cuts = new Cuts()
    const parts = openLedger(file, cuts)
    return new ModelStore({ file, files, cuts, make }, parts, await make(parts, cuts))
  }

  get records(): Catalogue['records'] {
    return this.catalogue.records
  }

  /** After so many writes more the process is killed. */
  killAfter(writes: number): void {
    this.#cuts.left = writes
  }

  /** Ends this one and opens the next on what is there, as a start does. */
  async reopened(): Promise<ModelStore> {
    this.killAfter(Number.POSITIVE_INFINITY)
    await this.close()
    const next = await ModelStore.#on(this.#file, this.files, this.#make)
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
