import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CoreCatalogue } from '../../src/catalogue/catalogue.ts'
import type { NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import type { StoredBlock } from '../../src/ledger/blocks.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { RootOwners } from '../../src/ledger/root-owners.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import type { WholeDag } from '../../src/ledger/whole-dag.ts'
import type { Database } from '../../src/storage/database.ts'
import { writeEmptyDatabase } from '../../src/storage/empty-database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { RepeatingDatabase } from '../support/repeating-database.ts'

const BACKEND = 0
const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }

/** A simulated end of the process: no later write happens. */
export class Crash extends Error {}

/** A block of the model, stored in the database or as a file. */
export interface ModelBlock {
  multihash: Uint8Array
  size: number
  isInline: boolean
}

export interface ModelDag {
  whole: WholeDag
  blocks: readonly ModelBlock[]
}

/** Lets a number of writes through and then fails all, as if the process had been killed between two writes. */
export class Cuts {
  left = Number.POSITIVE_INFINITY

  /** @throws Crash if no writes are left */
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

/** The parts of a model's ledger. */
export interface LedgerParts {
  db: Database
  queue: WriteQueue
  ledger: Ledger
  blocks: BlockTable
  roots: RootTable
  holds: Holds
  claims: Claims
  owners: RootOwners
}

function openLedger(file: string, cuts: Cuts): LedgerParts {
  if (!existsSync(file)) writeEmptyDatabase(file)
  const db = new RepeatingDatabase(file)
  const queue = new CutQueue(db, cuts)
  const blocks = new BlockTable(db)
  const roots = new RootTable(db)
  const holds = new Holds(db, roots)
  const claims = new Claims(db, blocks, queue)
  const owners = new RootOwners(db, { roots, holds, queue })
  return {
    db,
    queue,
    ledger: new Ledger({ claims, blocks, roots, holds, queue }),
    blocks,
    roots,
    holds,
    claims,
    owners,
  }
}

/** The catalogue of a model's store. */
export interface ModelCatalogue {
  records: CoreCatalogue['records']
  /** Inserts the accounts. */
  begin(accounts: readonly string[]): Promise<void>
  /** Releases the holds that a killed process left without a record, regardless of their age. */
  reconcile(): Promise<void>
  /** Returns the row counts of tables that must be empty in the end. */
  left(): Promise<Record<string, number>>
}

/** Opens a catalogue on a ledger. Called at each simulated start. */
export type MakeCatalogue = (ledger: LedgerParts, cuts: Cuts) => Promise<ModelCatalogue>

/** Opens a catalogue in the database of the ledger. */
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

/** Ledger and catalogue, with a set in place of block files. The set outlives every crash. */
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

  get records(): CoreCatalogue['records'] {
    return this.catalogue.records
  }

  /** Kills the process after a number of further writes. */
  killAfter(writes: number): void {
    this.#cuts.left = writes
  }

  /** Closes this store and opens the next one on the same files, as a restart does. */
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

  /** Stages a DAG, writes its missing blocks, and commits the records in one transaction. */
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

  /** Deletes all garbage. */
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
