import { randomBytes } from 'node:crypto'
import type { Committed, NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Database, type SqlValue, type Statement } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Counts the rows that statements return, and can fail as if the process had ended. */
class CountingDatabase extends Database {
  mostRows = 0
  /** The statements that read. */
  read: string[] = []
  transactions = 0
  transactionsLeft = Number.POSITIVE_INFINITY

  override prepare<Params extends SqlValue[], Row = unknown>(sql: string): Statement<Params, Row> {
    const statement = super.prepare<Params, Row>(sql)
    const all = (...params: Params): Row[] => {
      const rows = statement.all(...params)
      this.read.push(sql)
      this.mostRows = Math.max(this.mostRows, rows.length)
      return rows
    }
    const get = (...params: Params): Row | undefined => {
      this.read.push(sql)
      return statement.get(...params)
    }
    return { all, get, iterate: all, run: (...params: Params) => statement.run(...params) }
  }

  override transaction<T>(work: () => T): T {
    if (this.inTransaction) return super.transaction(work)
    if (this.transactionsLeft-- <= 0) throw new Error('the process has ended')
    this.transactions++
    return super.transaction(work)
  }

  reset(): void {
    this.mostRows = 0
    this.read = []
    this.transactions = 0
  }
}

export const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
export const SIZES = { owner: 0, contentSize: 10, dagSize: 10, blocks: 1, charge: 512, fileCount: 0 }
export const ACCOUNT = 'account'

export interface World {
  db: CountingDatabase
  queue: WriteQueue
  roots: RootTable
  /** @param queue default: the queue of the world */
  open(queue?: WriteQueue): ReturnType<typeof sqliteContent>
}

export function withCatalogue(run: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const db = newDatabase(dir, CountingDatabase)
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const blocks = new BlockTable(db)
    const claims = new Claims(db, blocks, queue)
    const account = db.prepare<[string, string]>(
      "INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'unlimited', 'user', 0)",
    )
    for (const id of [ACCOUNT, 'another']) account.run(id, `${id}@test`)
    try {
      await run({
        db,
        queue,
        roots,
        open: (own = queue) => sqliteContent(db, own, { roots, holds: new Holds(db, roots), blocks, claims }),
      })
    } finally {
      db.transactionsLeft = Number.POSITIVE_INFINITY
      await queue.settled()
      db.close()
    }
  })
}

export function dagOf(name: string) {
  return { codec: 0x55, multihash: Buffer.concat([Buffer.from([0x12, 0x20]), Buffer.alloc(32, name)]) }
}

let made = 0
export function recordOf(dag: ReturnType<typeof dagOf>, more: Partial<NewRecord> = {}): NewRecord {
  const id = `${String(made++).padStart(6, '0')}${randomBytes(3).toString('hex')}`
  return {
    ...{ id, accountId: ACCOUNT, clusterId: 'cl0-global', cid: 'cid', ...dag, type: 'file', status: 'pinned' },
    ...{
      statusAt: 0,
      statusCode: null,
      statusReason: null,
      name: id,
      originalName: null,
      customName: null,
      meta: null,
      owner: 0,
      size: 10,
    },
    ...{ expiresAt: null, createdAt: 0, ...more },
  }
}

export async function commit(
  world: World,
  content: ReturnType<typeof sqliteContent>,
  records: NewRecord[],
): Promise<Committed[]> {
  return content.records.commit(
    records.map(record => ({
      kind: 'whole',
      record,
      backendId: 0,
      stagedRootId: world.roots.find(0, record, 0) === undefined ? world.roots.stage(0, 0) : null,
      dag: { codec: record.codec, multihash: record.multihash, ...SIZES },
      limits: NO_LIMITS,
      now: 0,
    })),
  )
}
