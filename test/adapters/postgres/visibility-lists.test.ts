import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { SqlParam } from '../../../adapters/postgres/database/sql.ts'
import { RecordLists } from '../../../adapters/postgres/lists/record-lists.ts'
import type { VisibilityFilter } from '../../../src/domain/visibility.ts'
import { ANY_SEARCH } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

/** With a million records the plan is the same, but the test takes a minute. */
const COUNT = Number(process.env.HOLDFAST_TEST_RECORDS ?? 20_000)
const STEP = 10_000

interface Plan {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Returns the most rows that a part of a plan has read, with those that a condition has removed. */
function readBy(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  return Math.max(own, ...(plan.Plans ?? []).map(readBy))
}

describe('a list of one visibility in PostgreSQL', { timeout: 600_000, ...needsPostgres }, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  /** Returns the found records, and the most rows that a statement has read. */
  async function listed(visibility: VisibilityFilter) {
    const sent: Array<[string, SqlParam[]]> = []
    const { reading } = database
    const noting = {
      all: (text: string, params: SqlParam[] = []) => {
        sent.push([text, [...params]])
        return reading.all(text, params)
      },
      first: (text: string, params: SqlParam[] = []) => {
        sent.push([text, [...params]])
        return reading.first(text, params)
      },
    }
    const lists = new RecordLists({ reading: noting } as unknown as Postgres)
    const search = { ...ANY_SEARCH, visibility }
    const filter = { accountId: 'one', multihash: null, hasExpiration: false, now: 1, search }
    const page = await lists.page(filter, 0, 10)
    const far = await lists.page(filter, 12_000, 1)
    const walked = await lists.walk(filter, { after: null, limit: 10 })
    let most = 0
    for (const [text, params] of sent) {
      const rows = await reading.all<{ 'QUERY PLAN': Array<{ Plan: Plan }> }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        params,
      )
      for (const row of rows) most = Math.max(most, ...row['QUERY PLAN'].map(({ Plan }) => readBy(Plan)))
    }
    expect(walked.rows.map(({ id }) => id)).toEqual(page.rows.map(({ id }) => id))
    return {
      ids: page.rows.map(({ id }) => id),
      total: page.total,
      far: far.rows.length,
      isLower: page.totalIsLowerBound === true,
      most,
    }
  }

  /** Fills the list of an account. Every record has one visibility, except three with the other. */
  async function fill(most: VisibilityFilter): Promise<void> {
    const owner = most === 'public' ? ['0', '77'] : ['77', '0']
    await database.command('ALTER TABLE records DISABLE TRIGGER USER', [])
    for (let first = 1; first <= COUNT; first += STEP) {
      await database.command(
        `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, hold_id, type, status, status_at, name, size,
           dag_size, charge, created_at, identity, folded_name, words, owner)
         SELECT 'r' || n, 'one', 'near', 'c', 85, decode(md5(n::text), 'hex'), 'hold ' || n, 'file', 'pinned', n, 'n', 1, 1,
           512, n, decode(md5(n::text), 'hex'), 'n', '{}', CASE WHEN n <= 3 THEN ${owner[1]} ELSE ${owner[0]} END
         FROM generate_series($1::integer, $2::integer) n`,
        [first, Math.min(first + STEP - 1, COUNT)],
      )
    }
    await database.command('ANALYZE records', [])
  }

  test.each([
    ['public', 'private'],
    ['private', 'public'],
  ] as const)('reads few records of a list with many %s ones', async (many, few) => {
    await fill(many)
    expect(await listed(few)).toEqual({ ids: ['r3', 'r2', 'r1'], total: 3, far: 0, isLower: false, most: 3 })
    const { ids, total, far, isLower, most } = await listed(many)
    expect([ids[0], ids.length, total, far, isLower]).toEqual([`r${COUNT}`, 10, 10_001, 1, true])
    // The far page is behind twelve thousand records.
    expect(most).toBeLessThanOrEqual(12_002 + 3)
    expect(await listed('disputed')).toMatchObject({ ids: [], total: 0 })
  })
})
