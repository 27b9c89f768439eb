import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { RecordLists } from '../../../adapters/postgres/lists/record-lists.ts'
import { MOST_COUNTED } from '../../../adapters/postgres/schema/schema-pages.ts'
import type { RecordSearch } from '../../../src/catalogue/records.ts'
import type { PinStatus } from '../../../src/domain/pin-status.ts'
import { metaWord, partWords } from '../../../src/domain/search-words.ts'
import { ANY_SEARCH } from '../../catalogue/content-support.ts'
import { needsPostgres, startPostgres } from '../../support/postgres-server.ts'
import { emptied } from './emptied.ts'
import { openedDatabase } from './opened-database.ts'
import { visitedBy } from './plan-of.ts'

const ACCOUNTS = ['one', 'two']
const LIMIT = 7
const NOW = 50
/** Records of a sample for a common word, read for the sample and for the plan. */
const SAMPLED = 300

interface Row {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number | null
  status?: PinStatus
}

function stateOf(i: number): PinStatus {
  return i % 400 === 1 ? 'queued' : i % 400 === 5 ? 'pinning' : i % 800 === 97 ? 'failed' : 'pinned'
}

describe('pages by number in PostgreSQL', needsPostgres, () => {
  let url: string
  let database: Postgres
  let lists: RecordLists
  const use = (opened: Postgres, at: string): void => {
    database = opened
    url = at
    lists = new RecordLists(database)
  }
  // Transactions of other tests on the server would keep dead rows.
  openedDatabase(use, { start: startPostgres })
  beforeEach(async () => {
    // Dead index entries would distort the number of visited rows.
    await database.command('TRUNCATE records, record_places')
    await emptied(database)
    await database.command(
      `INSERT INTO accounts (id, email, email_key, plan, role, disabled, created_at)
       SELECT name, name, name, '', 'user', FALSE, 0 FROM unnest($1::text[]) name`,
      [ACCOUNTS],
    )
  })

  /** Inserts in one statement, so that the triggers must handle many rows. */
  async function insert(rows: readonly Row[]): Promise<void> {
    const columns = [rows.map(row => row.id), rows.map(row => row.accountId), rows.map(row => row.createdAt)]
    const statuses = rows.map(({ status }) => status ?? 'pinned')
    await database.command(
      `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, type, status, status_at, size, dag_size,
         charge, created_at, expires_at, identity, words)
       SELECT id, account_id, '', '', 85, decode(md5(id), 'hex'), 'file', status, 0, 1, 1, 512, created_at, expires_at,
         '', '{}'
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
         AS given (id, account_id, created_at, expires_at, status)`,
      [...columns, rows.map(row => row.expiresAt), statuses],
    )
    await count()
  }

  async function remove(ids: readonly string[]): Promise<void> {
    await database.command('DELETE FROM records WHERE id = ANY($1)', [ids])
    await count()
  }

  async function count(): Promise<void> {
    await database.command(
      `UPDATE accounts SET (pins, expiring_pins) =
         (SELECT COUNT(*), COUNT(expires_at) FROM records WHERE account_id = accounts.id)`,
    )
  }

  /** Returns places whose counts are wrong or too large. */
  function wrongPlaces() {
    return database.reading.all(
      `SELECT * FROM (
         SELECT *, LEAD(created_at, 1, 9007199254740991) OVER w AS next_at, LEAD(id, 1, '') OVER w AS next_id
         FROM record_places WINDOW w AS (PARTITION BY account_id ORDER BY created_at, id)) AS p,
       LATERAL (
         SELECT COUNT(*) AS there, COUNT(expires_at) AS ending FROM records r WHERE r.account_id = p.account_id
           AND (r.created_at, r.id) >= (p.created_at, p.id) AND (r.created_at, r.id) < (next_at, next_id)) AS counted
       WHERE (records, expiring) <> (there, ending) OR records >= ${MOST_COUNTED} OR records = 0`,
    )
  }

  test('are correct after random insertions and removals', async () => {
    let made = 0
    const given = fc.record({
      count: fc.constantFrom(1, 40, 4_500),
      at: fc.constantFrom<(i: number) => number>(
        () => 5_000,
        i => 10_000 + i,
        i => (i * 7_919) % 9_000,
        i => 900 - (i % 900),
      ),
      ends: fc.constantFrom<(i: number) => number | null>(
        () => null,
        i => (i % 3 === 0 ? NOW + 10 : null),
        i => (i % 4 === 0 ? NOW - 10 : null),
      ),
    })
    const change = fc.oneof(given, fc.record({ share: fc.constantFrom(0.01, 0.5, 1), from: fc.nat(99) }))
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 6 }), fc.nat(), async (changes, where) => {
        let rows: Row[] = []
        for (const one of changes) {
          if ('count' in one) {
            const more = Array.from({ length: one.count }, (_, i) => ({
              id: `r${String((made++ * 7_907) % 1_000_003).padStart(7, '0')}`,
              accountId: ACCOUNTS[i % 50 === 0 ? 1 : 0] ?? '',
              createdAt: one.at(i),
              expiresAt: one.ends(i),
            }))
            await insert(more)
            rows = [...rows, ...more]
          } else {
            const gone = rows.filter((_, i) => (i * 37 + one.from) % 100 < one.share * 100)
            await remove(gone.map(({ id }) => id))
            rows = rows.filter(row => !gone.includes(row))
          }
          expect(await wrongPlaces()).toEqual([])
          for (const accountId of ACCOUNTS) {
            for (const hasExpiration of [false, true]) {
              const wanted = rows
                .filter(row => row.accountId === accountId && (row.expiresAt ?? NOW + 1) > NOW)
                .filter(row => !hasExpiration || row.expiresAt !== null)
                .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
              for (const offset of [0, 999, 1_000, where % (wanted.length + 1), wanted.length - LIMIT]) {
                if (offset < 0) continue
                const filter = { accountId, multihash: null, hasExpiration, now: NOW }
                const page = await lists.page(filter, offset, LIMIT)
                expect(page.total).toBe(wanted.length)
                expect(page.rows.map(({ id }) => id)).toEqual(wanted.slice(offset, offset + LIMIT).map(({ id }) => id))
              }
            }
          }
        }
        await remove(rows.map(({ id }) => id))
        expect(await database.reading.all('SELECT * FROM record_places')).toEqual([])
      }),
      { numRuns: 3 },
    )
  })

  test('visit at most one place of records, however far', {
    timeout: 60_000,
  }, async () => {
    const rows: Row[] = Array.from({ length: 16_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: 'one', createdAt: i },
      // Some records have expired and are not removed yet.
      expiresAt: i % 5 === 0 ? NOW * 2 : i % 97 === 0 ? NOW - 1 : null,
    }))
    await insert(rows)
    await database.command('ANALYZE')
    const places = (await database.reading.all('SELECT 1 FROM record_places')).length
    const expired = rows.filter(({ expiresAt }) => expiresAt === NOW - 1).length
    for (const hasExpiration of [false, true]) {
      const wanted = rows
        .filter(({ expiresAt }) => (hasExpiration ? expiresAt === NOW * 2 : expiresAt !== NOW - 1))
        .toReversed()
      const filter = { accountId: 'one', multihash: null, hasExpiration, now: NOW }
      for (const offset of [0, 990, Math.floor(wanted.length / 2), wanted.length - LIMIT]) {
        const { result, visited } = await visitedBy(database, () => lists.page(filter, offset, LIMIT))
        const ids = wanted.slice(offset, offset + LIMIT).map(({ id }) => id)
        expect([result.total, result.rows.map(({ id }) => id)]).toEqual([wanted.length, ids])
        // Expired records are visited twice: for the total and for the places.
        expect(visited).toBeLessThan(MOST_COUNTED + places + 2 * expired + 4 * LIMIT)
      }
    }
  })

  test('by status count only records that are not pinned', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 16_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: 'one', createdAt: i, status: stateOf(i) },
      expiresAt: i % 5 === 0 ? NOW * 2 : i % 97 === 0 ? NOW - 1 : null,
    }))
    await insert(rows)
    await insert(rows.slice(0, 900).map(row => ({ ...row, id: `other ${row.id}`, accountId: 'two' })))
    await database.command('ANALYZE')
    const few = rows.filter(({ status, expiresAt }) => status !== 'pinned' || expiresAt === NOW - 1).length
    const asked: PinStatus[][] = [
      ['pinned'],
      ['queued', 'pinned'],
      ['queued', 'pinning', 'pinned', 'failed'],
      ['queued'],
      ['failed', 'pinning', 'queued'],
    ]
    for (const statuses of asked) {
      for (const [hasExpiration, oldestFirst] of [
        [false, false],
        [true, false],
        [false, true],
      ] as const) {
        const wanted = rows
          .filter(({ status, expiresAt }) => statuses.includes(status) && expiresAt !== NOW - 1)
          .filter(({ expiresAt }) => !hasExpiration || expiresAt !== null)
        const ids = (oldestFirst ? wanted : wanted.toReversed()).slice(0, LIMIT).map(({ id }) => id)
        const search = { ...ANY_SEARCH, statuses, oldestFirst }
        const filter = { accountId: 'one', multihash: null, hasExpiration, now: NOW, search }
        const page = await visitedBy(database, () => lists.page(filter, 0, LIMIT))
        expect([page.result.total, page.result.rows.map(({ id }) => id)]).toEqual([wanted.length, ids])
        const walked = await visitedBy(database, () => lists.walk(filter, { after: null, limit: LIMIT }))
        expect(walked.result.rows.map(({ id }) => id)).toEqual(ids)
        if (hasExpiration) continue
        // Visited twice: for the total and for the rows.
        expect([page.visited, walked.visited].map(visited => visited < 2 * few + 4 * LIMIT)).toEqual([true, true])
      }
    }
  })

  test('with a common word visit the list up to the page', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 40_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: 'one', createdAt: i, expiresAt: null },
    }))
    await insert(rows)
    const list = (await database.reading.first<{ seq: number }>("SELECT seq FROM accounts WHERE id = 'one'"))?.seq ?? 0
    // No statement of the catalogue updates so many records, and triggers compare them all.
    await database.command('ALTER TABLE records DISABLE TRIGGER USER')
    await database.command("UPDATE records SET words = $1, name = 'A file', folded_name = 'a file'", [
      partWords(list, 'file'),
    ])
    await database.command('ANALYZE records')
    const search: RecordSearch = { ...ANY_SEARCH, names: [{ text: 'file', match: 'ipartial' }] }
    const filter = { accountId: 'one', multihash: null, hasExpiration: false, now: NOW, search }
    const wanted = rows.toReversed().map(({ id }) => id)
    for (const offset of [0, 9_000, 12_000]) {
      const { result, visited } = await visitedBy(database, () => lists.page(filter, offset, LIMIT))
      expect(result).toMatchObject({ total: Math.max(10_000, offset + LIMIT) + 1, totalIsLowerBound: true })
      expect(result.rows.map(({ id }) => id)).toEqual(wanted.slice(offset, offset + LIMIT))
      // The sample, the count, and the rows up to the page.
      expect(visited).toBeLessThan(SAMPLED + result.total + offset + 4 * LIMIT)
    }
    const { rows: last, ...totals } = await lists.page(filter, 39_995, LIMIT)
    expect([last.length, totals]).toEqual([5, { total: 40_000 }])
    const walked = await visitedBy(database, () => lists.walk(filter, { after: null, limit: LIMIT }))
    expect(walked.result.rows.map(({ id }) => id)).toEqual(wanted.slice(0, LIMIT))
    expect(walked.visited).toBeLessThan(SAMPLED + 10_001 + 4 * LIMIT)
    const inAnotherCase = { ...filter, search: { ...ANY_SEARCH, names: [{ text: 'FILE', match: 'partial' as const }] } }
    const none = await visitedBy(database, () => lists.page(inAnotherCase, 0, LIMIT))
    expect(none.result).toEqual({ rows: [], total: 0 })
    // The sample, and each name once.
    expect(none.visited).toBeLessThan(SAMPLED + 40_000 + 4 * LIMIT)
    expect(await lists.page({ ...filter, search: { ...search, before: 20 } }, 15, LIMIT)).toMatchObject({ total: 20 })
    // A word of the newest records alone.
    await database.command(
      "UPDATE records SET words = '{}', name = 'other', folded_name = 'other' WHERE created_at < 39000",
    )
    await database.command('ALTER TABLE records ENABLE TRIGGER USER')
    const { rows: few, ...fewTotals } = await lists.page(filter, 990, LIMIT)
    expect([few.map(({ id }) => id), fewTotals]).toEqual([wanted.slice(990, 997), { total: 1_000 }])
  })

  test('with a rare word visit its records alone, whatever PostgreSQL expects', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: 'one', createdAt: i, expiresAt: null },
    }))
    await insert(rows)
    const list = (await database.reading.first<{ seq: number }>("SELECT seq FROM accounts WHERE id = 'one'"))?.seq ?? 0
    const word = metaWord(list, 'found', 'yes')
    await database.command(
      `UPDATE records SET words = ARRAY['${word}'], meta = '{"found":"yes"}' WHERE id IN ('r1', 'r9')`,
    )
    await database.command('ANALYZE records')
    // As in a far longer list, an order of an index seems cheaper than sorting.
    const unsorted = await Postgres.open({
      url: `${url}${url.includes('?') ? '&' : '?'}options=-c%20enable_sort%3Doff`,
    })
    try {
      const inIt = new RecordLists(unsorted)
      for (const [before, oldestFirst] of [
        [null, false],
        [null, true],
        [19_000, false],
      ] as const) {
        const search: RecordSearch = { ...ANY_SEARCH, meta: { found: 'yes' }, before, oldestFirst }
        const filter = { accountId: 'one', multihash: null, hasExpiration: false, now: NOW, search }
        const page = await visitedBy(unsorted, () => inIt.page(filter, 0, LIMIT))
        const walked = await visitedBy(unsorted, () => inIt.walk(filter, { after: null, limit: LIMIT }))
        const ids = oldestFirst ? ['r1', 'r9'] : ['r9', 'r1']
        expect([page, walked].map(({ result }) => result.rows.map(({ id }) => id))).toEqual([ids, ids])
        expect(page.visited).toBeLessThan(SAMPLED)
        expect(walked.visited).toBeLessThan(SAMPLED)
      }
    } finally {
      await unsorted.close()
    }
  })

  test('by time count and skip few records, in the order of time', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 16_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: 'one', createdAt: 1 + ((i * 7_919) % 15_000), status: stateOf(i) },
      expiresAt: i % 5 === 0 ? NOW * 2 : i % 97 === 0 ? NOW - 1 : null,
    }))
    await insert(rows)
    await insert(rows.slice(0, 900).map(row => ({ ...row, id: `other ${row.id}`, accountId: 'two' })))
    await database.command('ANALYZE')
    const places = (await database.reading.all('SELECT 1 FROM record_places')).length
    const few = rows.filter(({ status, expiresAt }) => status !== 'pinned' || expiresAt === NOW - 1).length
    const bounds: Array<[before: number | null, after: number | null]> = [
      [7_000, null],
      [null, 7_000],
      [9_000, 3_000],
      [20_000, 0],
      [1, null],
      [null, 15_000],
      [5_001, 4_999],
    ]
    for (const [before, after] of bounds) {
      for (const hasExpiration of [false, true]) {
        for (const statuses of [[], ['pinned'], ['queued', 'pinned']] as PinStatus[][]) {
          const oldestFirst = statuses.length === 1
          const wanted = rows
            .filter(({ createdAt }) => createdAt < (before ?? 1e9) && createdAt > (after ?? 0))
            .filter(
              ({ status, expiresAt }) => expiresAt !== NOW - 1 && (statuses.length === 0 || statuses.includes(status)),
            )
            .filter(({ expiresAt }) => !hasExpiration || expiresAt !== null)
            .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
          if (oldestFirst) wanted.reverse()
          const ids = wanted.slice(0, LIMIT).map(({ id }) => id)
          const search = { ...ANY_SEARCH, statuses, before, after, oldestFirst }
          const filter = { accountId: 'one', multihash: null, hasExpiration, now: NOW, search }
          const { result, visited } = await visitedBy(database, () => lists.page(filter, 0, LIMIT))
          expect([result.total, result.rows.map(({ id }) => id)]).toEqual([wanted.length, ids])
          expect(visited).toBeLessThan(2 * (places + MOST_COUNTED + few) + 4 * LIMIT)
          const first = await lists.walk(filter, { after: null, limit: LIMIT })
          const second =
            first.next === null ? { rows: [] } : await lists.walk(filter, { after: first.next, limit: LIMIT })
          const walked = [...first.rows, ...second.rows].map(({ id }) => id)
          expect(walked).toEqual(wanted.slice(0, 2 * LIMIT).map(({ id }) => id))
        }
      }
    }
  })

  test('find records that are older than the places', async () => {
    await database.command('ALTER TABLE records DISABLE TRIGGER records_counted')
    const rows = Array.from({ length: 5_000 }, (_, i) => ({
      ...{ id: `r${i}`, accountId: ACCOUNTS[i % 2] ?? '', createdAt: i % 1_700 },
      expiresAt: i % 3 === 0 ? NOW * 2 : null,
    }))
    await insert(rows)
    await database.command('ALTER TABLE records ENABLE TRIGGER records_counted')
    await database.command('SELECT place_records()')
    expect(await wrongPlaces()).toEqual([])
    expect((await database.reading.all('SELECT 1 FROM record_places')).length).toBe(6)
    await insert([{ id: 'older', accountId: 'one', createdAt: 0, expiresAt: null }])
    await remove(rows.slice(0, 3_000).map(({ id }) => id))
    expect(await wrongPlaces()).toEqual([])
  })

  test('cost an insertion or removal a few rows', async () => {
    await insert(
      Array.from({ length: 10_000 }, (_, i) => ({ id: `r${i}`, accountId: 'one', createdAt: i, expiresAt: null })),
    )
    await database.command('ANALYZE')
    const one = { id: 'new', accountId: 'one', createdAt: 11_000, expiresAt: null }
    const client = await database.connection()
    const visited = async () => {
      const { rows } = await client.query<{ visited: string }>(
        `SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) AS visited FROM pg_stat_xact_user_tables
         WHERE relid IN ('records'::regclass, 'record_places'::regclass)`,
      )
      return Number(rows[0]?.visited)
    }
    try {
      await client.query('BEGIN')
      const before = await visited()
      await client.query(
        `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, type, status, status_at, size, dag_size,
           charge, created_at, identity, words) VALUES ($1, 'one', '', '', 85, '', 'file', '', 0, 1, 1, 1, $2, '', '{}')`,
        [one.id, one.createdAt],
      )
      await client.query(`DELETE FROM records WHERE id IN ('r7', 'r5007')`)
      expect((await visited()) - before).toBeLessThan(100)
      await client.query('ROLLBACK')
    } finally {
      client.release(true)
    }
  })
})
