import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewRecord, PinLimits, RecordSearch } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Database, type SqlValue, type Statement } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Counts the rows that statements return, and can fail as if the process had ended. */
class CountingDatabase extends Database {
  mostRows = 0
  statements = 0
  transactions = 0
  transactionsLeft = Number.POSITIVE_INFINITY

  override prepare<Params extends SqlValue[], Row = unknown>(sql: string): Statement<Params, Row> {
    const statement = super.prepare<Params, Row>(sql)
    const all = (...params: Params): Row[] => {
      const rows = statement.all(...params)
      this.statements++
      this.mostRows = Math.max(this.mostRows, rows.length)
      return rows
    }
    const get = (...params: Params): Row | undefined => {
      this.statements++
      return statement.get(...params)
    }
    return { all, get, run: (...params: Params) => statement.run(...params) }
  }

  override transaction<T>(work: () => T): T {
    if (this.inTransaction) return super.transaction(work)
    if (this.transactionsLeft-- <= 0) throw new Error('the process has ended')
    this.transactions++
    return super.transaction(work)
  }

  reset(): void {
    this.mostRows = 0
    this.statements = 0
    this.transactions = 0
  }
}

const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
const SIZES = { contentSize: 10, dagSize: 10, blocks: 1, charge: 512, fileCount: 0 }
const ACCOUNT = 'account'

interface World {
  db: CountingDatabase
  queue: WriteQueue
  roots: RootTable
  open(): ReturnType<typeof sqliteContent>
}

function withCatalogue(run: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const db = new CountingDatabase(join(dir, 'holdfast.db'))
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
        open: () => sqliteContent(db, queue, { roots, holds: new Holds(db, roots), blocks, claims }),
      })
    } finally {
      db.transactionsLeft = Number.POSITIVE_INFINITY
      await queue.settled()
      db.close()
    }
  })
}

function dagOf(name: string) {
  return { codec: 0x55, multihash: Buffer.concat([Buffer.from([0x12, 0x20]), Buffer.alloc(32, name)]) }
}

let made = 0
function recordOf(dag: ReturnType<typeof dagOf>, more: Partial<NewRecord> = {}): NewRecord {
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
      size: 10,
    },
    ...{ expiresAt: null, createdAt: 0, ...more },
  }
}

async function commit(world: World, content: ReturnType<typeof sqliteContent>, records: NewRecord[]): Promise<void> {
  await content.records.commit(
    records.map(record => ({
      kind: 'whole',
      record,
      backendId: 0,
      stagedRootId: world.roots.find(0, record) === undefined ? world.roots.stage(0, 0) : null,
      dag: { codec: record.codec, multihash: record.multihash, ...SIZES },
      limits: NO_LIMITS,
      now: 0,
    })),
  )
}

const NEWEST_FIRST = (a: NewRecord, b: NewRecord): number => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

describe('pages of records', () => {
  test('are correct at any offset while records change, in short statements', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const dags = ['a', 'b', 'c'].map(dagOf)
      const kept = Array.from({ length: 4_500 }, (_, i) =>
        recordOf(dags[i % 3] ?? dagOf('a'), { createdAt: i % 700, expiresAt: i % 5 === 0 ? 1e9 : null }),
      )
      for (let i = 0; i < kept.length; i += 500) await commit(world, content, kept.slice(i, i + 500))
      world.db.reset()
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            offset: fc.nat(4_600),
            dag: fc.option(fc.constantFrom(...dags)),
            hasExpiration: fc.boolean(),
            change: fc.constantFrom('none', 'add', 'remove'),
            pick: fc.nat(4_000),
          }),
          async ({ offset, dag, hasExpiration, change, pick }) => {
            if (change === 'add') {
              const record = recordOf(dags[pick % 3] ?? dagOf('a'), { createdAt: pick % 800 })
              await commit(world, content, [record])
              kept.push(record)
            } else if (change === 'remove') {
              const [gone] = kept.splice(pick % kept.length, 1)
              expect(await content.records.discard(gone?.id ?? '')).toBe(true)
            }
            const filter = { accountId: ACCOUNT, multihash: dag?.multihash ?? null, hasExpiration, now: 1 }
            const wanted = kept
              .filter(record => dag === null || Buffer.compare(record.multihash, dag.multihash) === 0)
              .filter(record => !hasExpiration || record.expiresAt !== null)
              .sort(NEWEST_FIRST)
            const { rows, total } = await content.records.page(filter, offset, 7)
            expect(total).toBe(wanted.length)
            expect(rows.map(row => row.id)).toEqual(wanted.slice(offset, offset + 7).map(record => record.id))
          },
        ),
        { numRuns: 150 },
      )
      expect(world.db.mostRows).toBeLessThanOrEqual(1_000)
      // The position of the page is now known, so reading it again takes one statement besides the counters.
      const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1 }
      for (const offset of [2_200, kept.length - 7]) {
        await content.records.page(filter, offset, 7)
        world.db.reset()
        const { rows } = await content.records.page(filter, offset, 7)
        expect(world.db.statements).toBeLessThanOrEqual(3)
        // Columns that no list shows are not read, because bytes dominate the cost.
        expect(Object.keys(rows[0] ?? {})).not.toContain('multihash')
        expect(world.db.mostRows).toBeLessThanOrEqual(7)
      }
    })
  })

  test('hide expired records before their removal, even deep in the list', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 3_000 }, (_, i) =>
        recordOf(dagOf('a'), { createdAt: i, expiresAt: i % 2 === 0 ? 50 : null }),
      )
      for (let i = 0; i < records.length; i += 500) await commit(world, content, records.slice(i, i + 500))
      const live = records.filter(record => record.expiresAt === null).sort(NEWEST_FIRST)
      for (const multihash of [null, dagOf('a').multihash]) {
        const filter = { accountId: ACCOUNT, multihash, hasExpiration: false, now: 60 }
        const { rows, total } = await content.records.page(filter, 1_300, 5)
        expect(total).toBe(1_500)
        expect(rows.map(row => row.id)).toEqual(live.slice(1_300, 1_305).map(record => record.id))
      }
    })
  })
})

describe('a search', () => {
  const ANY: RecordSearch = {
    ...{ names: [], meta: {}, types: [], statuses: [], multihashes: [], before: null, after: null, oldestFirst: false },
  }
  const QUESTIONS: ReadonlyArray<Partial<RecordSearch>> = [
    { names: [{ text: 'NEEDLE', match: 'ipartial' }] },
    { names: [{ text: 'needle', match: 'partial' }], statuses: ['pinned'] },
    { meta: { found: 'yes' } },
    { meta: { found: 'yes' }, types: ['file', 'pin'] },
  ]

  test('for a rare word takes few statements, in either order', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const skip = world.db.prepare<[number]>('UPDATE search_lists SET last = last + ?')
      const needles: string[] = []
      // Simulates many records between those of the test.
      for (let i = 0; i < 4; i++) {
        const more = i === 3 ? { createdAt: i, expiresAt: 5 } : { createdAt: i }
        const common = Array.from({ length: 70 }, (_, n) => recordOf(dagOf('a'), { ...more, name: `a file ${i} ${n}` }))
        const found = recordOf(dagOf('b'), { ...more, name: `a needle ${i}`, meta: '{"found":"yes"}' })
        await commit(world, content, [...common, found])
        needles.unshift(found.id)
        skip.run(900_000)
      }
      // The first search indexes all changed records.
      const first = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search: ANY }
      await content.records.page(first, 0, 1)
      for (const question of QUESTIONS) {
        for (const oldestFirst of [false, true]) {
          for (const now of [1, 9]) {
            const search = { ...ANY, ...question, oldestFirst }
            const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now, search }
            const live = now === 9 ? needles.slice(1) : needles
            const wanted = oldestFirst ? live.toReversed() : live
            world.db.reset()
            const { rows, total } = await content.records.page(filter, 1, 2)
            expect([total, rows.map(({ id }) => id)]).toEqual([wanted.length, wanted.slice(1, 3)])
            // Five statements for every search, one after the last block, and three for each of four blocks: its first
            // record, the records with a rare word, and their rows.
            expect(world.db.statements).toBeLessThanOrEqual(5 + 1 + 4 * 3)
            const walked: string[] = []
            for (let after: string | null = null, isMore = true; isMore; isMore = after !== null) {
              const { rows, next } = await content.records.walk(filter, { after, limit: 2 })
              walked.push(...rows.map(({ id }) => id))
              after = next
            }
            expect(walked).toEqual(wanted)
          }
        }
      }
      const all = {
        ...ANY,
        names: [{ text: 'A FILE', match: 'ipartial' as const }],
      }
      const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search: all }
      expect((await content.records.page(filter, 0, 3)).total).toBe(280)
    })
  })
})

describe('a removal of many records', () => {
  const DAG = dagOf('many')
  const removal = { accountId: ACCOUNT, dag: DAG, clusterId: null, now: 1 }

  async function withMany(run: (world: World) => Promise<void>): Promise<void> {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 420 }, () => recordOf(DAG))
      await commit(world, content, [...records, recordOf(dagOf('other')), recordOf(DAG, { accountId: 'another' })])
      await world.queue.settled()
      world.db.reset()
      await run(world)
    })
  }

  async function expectRemoved(world: World): Promise<void> {
    const { records } = world.open()
    expect(await records.usage(ACCOUNT, 1)).toEqual({ pins: 1, expiringPins: 0, storedBytes: 512 })
    expect(await records.ofDag({ ...removal, limit: 10 })).toEqual([])
    expect(await records.usage('another', 1)).toMatchObject({ pins: 1 })
    // The other account's record keeps the root.
    expect(world.roots.find(0, DAG)).toBeDefined()
    await records.remove({ ...removal, accountId: 'another' })
    expect(world.roots.find(0, DAG)).toBeUndefined()
    const left = world.db.prepare<[], { count: number }>('SELECT (SELECT COUNT(*) FROM removals) AS count').get()
    expect(left).toEqual({ count: 0 })
  }

  test('takes many short transactions of a few records each', async () => {
    await withMany(async world => {
      const removed = await world.open().records.remove(removal)
      expect(removed).toHaveLength(420)
      expect(new Set(removed.map(record => record.id)).size).toBe(420)
      expect(world.db.mostRows).toBeLessThanOrEqual(50)
      expect(world.db.transactions).toBeGreaterThanOrEqual(9)
      await expectRemoved(world)
    })
  })

  test.each([1, 2, 5, 8])('interrupted after %d transactions is finished at the next start', async transactions => {
    await withMany(async world => {
      world.db.transactionsLeft = transactions
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      await world.open().records.finishRemovals()
      await expectRemoved(world)
    })
  })

  test('stored a minute ago is finished with the next expiry', async () => {
    await withMany(async world => {
      world.db.transactionsLeft = 2
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      const { usage, expire } = world.open().records
      const left = await usage(ACCOUNT, 1)
      await expire(removal.now + 60_000, 10)
      expect(await usage(ACCOUNT, 1)).toEqual(left)
      await expire(removal.now + 60_001, 10)
      await expectRemoved(world)
    })
  })

  test('interrupted before its first transaction removes nothing', async () => {
    await withMany(async world => {
      world.db.transactionsLeft = 0
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      await world.open().records.finishRemovals()
      expect(await world.open().records.usage(ACCOUNT, 1)).toMatchObject({ pins: 421 })
    })
  })
})

describe('fetches', () => {
  function request(name: string, more: Partial<NewRecord> = {}, limits: Partial<PinLimits> = {}) {
    const record = recordOf(dagOf(name), { type: 'pin', status: 'queued', ...more })
    return { record, backendId: 0, origins: [], limits: { ...NO_LIMITS, ...limits }, now: 0 }
  }

  test('are read a few at a time, by account in turn', async () => {
    await withCatalogue(async world => {
      const { fetches } = world.open()
      const many = Array.from({ length: 600 }, () => fetches.request(request(randomBytes(16).toString('hex'))))
      await Promise.all(many)
      await fetches.request(request('theirs', { accountId: 'another' }))
      world.db.reset()
      const { jobs: due, last } = await fetches.due({ now: 1, after: '', accounts: 64, each: 16 })
      expect(due.map(fetch => fetch.accountId)).toEqual([...Array<string>(16).fill(ACCOUNT), 'another'])
      expect(last).toBeNull()
      expect(world.db.mostRows).toBeLessThanOrEqual(16)
      expect(world.db.statements).toBeLessThanOrEqual(5)
    })
  })

  test('are limited by the plan until one has ended', async () => {
    await withCatalogue(async world => {
      const { fetches } = world.open()
      const limits = { maxQueuedPins: 2 }
      const first = await fetches.request(request('a', {}, limits))
      await fetches.request(request('b', {}, limits))
      await expect(fetches.request(request('c', {}, limits))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect((await fetches.request(request('c', {}, { maxQueuedPins: null }))).created).toBe(true)
      expect((await fetches.request(request('d', { accountId: 'another' }, limits))).created).toBe(true)
      await fetches.refuse([first.record.id], { code: null, text: 'refused' }, 1)
      await fetches.refuse([(await fetches.request(request('a2'))).record.id], { code: null, text: 'refused' }, 1)
      await expect(fetches.request(request('e', {}, limits))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect((await fetches.request(request('e', {}, { maxQueuedPins: 3 }))).created).toBe(true)
    })
  })

  test('are delivered in steps, and kept until the last record has them', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const asked = await Promise.all(
        Array.from({ length: 130 }, () => content.fetches.request(request('shared', { accountId: 'another' }))),
      )
      const fetchId = asked[0]?.fetchId ?? 0
      await content.fetches.start(fetchId, 1)
      await content.fetches.complete(fetchId, { ...dagOf('shared'), ...SIZES })
      const limits = new Map([['another', NO_LIMITS]])
      const first = await content.fetches.deliver(fetchId, limits, 2)
      expect([first.changes.length, first.isDone]).toEqual([50, false])
      // The process ends, and the next one continues.
      const next = world.open().fetches
      expect(await next.resume(3)).toHaveLength(80)
      const started = await next.start(fetchId, 4)
      expect(started?.fetch.isWhole).toBe(true)
      expect((await next.deliver(fetchId, limits, 5)).isDone).toBe(false)
      expect(world.roots.find(0, dagOf('shared'))).toBeDefined()
      expect((await next.deliver(fetchId, limits, 6)).isDone).toBe(true)
      expect(await content.records.usage('another', 7)).toMatchObject({ pins: 130, storedBytes: 512 })
      await content.records.remove({ accountId: 'another', dag: dagOf('shared'), clusterId: null, now: 8 })
      expect(world.roots.find(0, dagOf('shared'))).toBeUndefined()
    })
  })
})
