import { afterEach, expect, test, vi } from 'vitest'
import type { AccountUsage, RecordRow } from '../../src/catalogue/records.ts'
import { own } from '../../src/catalogue/rules/driver.ts'
import { removeRecords } from '../../src/catalogue/rules/removal-rules.ts'
import { RecordTable } from '../../src/catalogue/sqlite/record-table.ts'
import { SqliteStatements } from '../../src/catalogue/sqlite/sqlite-driver.ts'
import type { Database } from '../../src/storage/database.ts'
import { Draws } from '../support/draws.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const ACCOUNTS = ['a', 'b'] as const
const CHARGE = 1_000

function withRecords(run: (records: RecordTable, db: Database) => void): Promise<void> {
  return withTempDir(async dir => {
    const db = newDatabase(dir)
    try {
      const insert = db.prepare<[string, string]>(
        `INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'unlimited', 'user', 0)`,
      )
      for (const id of ACCOUNTS) insert.run(id, `${id}@example.org`)
      run(new RecordTable(db), db)
    } finally {
      db.close()
    }
  })
}

function recordOf(draws: Draws, id: string): RecordRow {
  const content = draws.below(6)
  return {
    ...{ id, accountId: draws.pick(ACCOUNTS), clusterId: `cl${draws.below(2)}`, cid: `cid ${content}` },
    ...{
      codec: 85 + (content % 2),
      multihash: Uint8Array.of(content >> 1),
      type: 'file',
      status: 'pinned',
      statusAt: 0,
    },
    ...{
      statusCode: null,
      statusReason: null,
      fetchId: null,
      name: null,
      originalName: null,
      customName: null,
      meta: null,
      owner: 0,
    },
    ...{ size: 1, dagSize: 1, expiresAt: draws.below(3) === 0 ? 5 : null, createdAt: draws.below(4) },
    ...(draws.below(4) === 0 ? { rootId: null, charge: 0 } : { rootId: content, charge: CHARGE + content }),
  } as RecordRow
}

afterEach(() => vi.restoreAllMocks())

test('counts usage correctly despite changes and rollbacks between steps', async () => {
  console.log(`recount: seed ${SEED}`)
  await withRecords((records, db) => {
    const draws = new Draws(SEED)
    const rows = new Map<string, RecordRow>()
    let counts = 0
    let accountId: string = 'a'
    const statements = new SqliteStatements(db)
    const parts = {
      remove: (removed: readonly RecordRow[]) =>
        own(() => {
          for (const { id } of removed) records.delete(id)
          return [...removed]
        }),
      uncounted: (record: RecordRow, count: AccountUsage) => records.found(record, count),
      dropReleased: async () => undefined,
    }
    const change = (id: string): void => {
      const known = [...rows.values()][draws.below(40)]
      if (known === undefined) {
        const record = recordOf(draws, id)
        records.insert(record)
        rows.set(id, record)
      } else if (draws.below(2) === 0) {
        statements.carryOut(removeRecords(parts, [known], true))
        rows.delete(known.id)
      } else if (known.rootId === null) {
        const content = Number(known.cid.slice(4))
        const root = { id: content, contentSize: 1, dagSize: 1, charge: CHARGE + content }
        records.setContent(known, root)
        rows.set(known.id, { ...known, rootId: root.id, charge: root.charge })
      } else {
        records.setWaiting(known, 1, 0, 'waits')
        rows.set(known.id, { ...known, rootId: null, charge: 0 })
      }
    }
    for (let step = 0; step < 3_000; step++) {
      const before = new Map(rows)
      if (draws.below(100) === 0) accountId = draws.pick(ACCOUNTS)
      const isUndone = draws.below(5) === 0
      const work = (): void => {
        for (let changes = draws.below(3); changes >= 0; changes--) change(`r${step} ${changes}`)
        const count = records.recount(accountId, { limit: 1 + draws.below(3), mend: false })
        if (count !== 'more' && count !== null) {
          expect(count.counted, `step ${step}`).toEqual(count.noted)
          counts++
        }
        if (isUndone) throw new Error('undone')
      }
      try {
        db.transaction(work)
      } catch (error) {
        if (!isUndone || (error as Error).message !== 'undone') throw error
        rows.clear()
        for (const [id, row] of before) rows.set(id, row)
      }
    }
    expect(counts).toBeGreaterThan(20)
  })
})

test('limits each step, and corrects wrong counters', async () => {
  await withRecords((records, db) => {
    const draws = new Draws(1)
    for (let i = 0; i < 60; i++) records.insert({ ...recordOf(draws, `r${i}`), accountId: 'a' })
    const right = records.usage('a', 0)
    db.prepare(`UPDATE accounts SET pins = 1, expiring_pins = 9, stored_bytes = 3 WHERE id = 'a'`).run()
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const recount = (mend: boolean) => {
      for (let steps = 1; ; steps++) {
        const count = records.recount('a', { limit: 10, mend })
        if (count !== 'more') return { steps, count }
      }
    }
    expect(recount(true)).toMatchObject({ steps: 8, count: { noted: { pins: 1 }, counted: right } })
    expect(records.usage('a', 0)).toEqual(right)
    expect(recount(false)).toMatchObject({ count: { noted: right, counted: right } })
    expect(records.recount('nobody', { limit: 10, mend: true })).toBe('more')
    expect(records.recount('nobody', { limit: 10, mend: true })).toBeNull()
  })
})

test('counts one row or DAG per step while each is slow', async () => {
  await withRecords((records, db) => {
    const draws = new Draws(1)
    for (let i = 0; i < 20; i++) records.insert({ ...recordOf(draws, `r${i}`), accountId: 'a' })
    const dags =
      db.prepare<[], { n: number }>('SELECT COUNT(DISTINCT multihash || codec) AS n FROM records').get()?.n ?? 0
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 10
      return now
    })
    let steps = 1
    for (; records.recount('a', { limit: 100, mend: false }) === 'more'; steps++);
    // Both parts need one more step to find that nothing follows.
    expect(steps).toBe(20 + 1 + dags + 1)
  })
})

test('starts a count again after the rollback of a later one', async () => {
  await withRecords((records, db) => {
    const draws = new Draws(2)
    const add = (id: string): void => records.insert({ ...recordOf(draws, id), accountId: 'a', createdAt: 1 })
    const step = (accountId: string) => records.recount(accountId, { limit: 2, mend: false })
    const undone = (work: () => void): void => {
      const thrown = new Error('undone')
      const transaction = (): void =>
        db.transaction(() => {
          work()
          throw thrown
        })
      expect(transaction).toThrow(thrown)
    }
    for (const id of ['r1', 'r2', 'r3', 'r4', 'r5']) add(id)
    expect(step('a')).toBe('more')
    undone(() => step('b'))
    // The first count of this account has passed this record.
    add('r9')
    undone(() => step('a'))
    for (;;) {
      const count = step('a')
      if (count === 'more' || count === null) continue
      expect(count.counted).toEqual(count.noted)
      break
    }
  })
})
