import pg from 'pg'
import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { PostgresRevisions } from '../../../adapters/postgres/fleet/postgres-revisions.ts'
import { PostgresTakedowns } from '../../../adapters/postgres/postgres-takedowns.ts'
import { FleetRevisions } from '../../../src/content/fleet-revisions.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { databaseOfTwoNodes } from './opened-database.ts'

const PATIENCE = { timeout: 60_000 }
const PUT = "INSERT INTO takedowns (cid, path, status, reason, at) VALUES ($1, '', 410, '', 1)"
const IS_WAITING = `SELECT 1 FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%takedowns%'`

describe('revisions in PostgreSQL', { timeout: 150_000, ...needsPostgres }, () => {
  let database: Postgres
  let url: string
  databaseOfTwoNodes((opened, address) => {
    database = opened
    url = address
  })
  const rowsOf = (node: string) => new PostgresRevisions(database, node)
  const newest = () => rowsOf('here').newest()
  const put = (cid: string) => new PostgresTakedowns(database).put({ cid, path: '', status: 410, reason: '', at: 1 })
  const cids = async () => (await new PostgresTakedowns(database).all()).map(({ cid }) => cid)
  const withClient = async (run: (client: pg.Client) => Promise<void>) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await run(client).finally(() => client.end())
  }
  const seen = (node: string, at: string) => database.command(`UPDATE nodes SET seen_at = ${at} WHERE name = '${node}'`)
  const setConfirmed = (node: string, value: number | null) =>
    database.command('UPDATE nodes SET confirmed = $2 WHERE name = $1', [node, value])
  const confirmed = async (node: string) =>
    (await database.reading.first<{ confirmed: number | null }>('SELECT confirmed FROM nodes WHERE name = $1', [node]))
      ?.confirmed

  test('a change waits for one that began earlier and commits later', async () => {
    await put('before')
    await withClient(async first => {
      const before = await newest()
      await first.query('BEGIN')
      await first.query(PUT, ['first'])
      const { rows } = await first.query<{ number: string }>('SELECT number FROM revisions')
      let isCommitted = false
      const second = put('second').then(() => {
        isCommitted = true
      })
      const isSettled = async () => isCommitted || (await database.reading.first(IS_WAITING)) !== undefined
      await expect.poll(isSettled, PATIENCE).toBe(true)
      expect([await newest(), await cids(), isCommitted]).toEqual([before, ['before'], false])
      await first.query('COMMIT')
      expect(await newest()).toBeGreaterThanOrEqual(Number(rows[0]?.number))
      expect(await cids()).toContain('first')
      await second
      expect(await newest()).toBeGreaterThan(Number(rows[0]?.number))
      expect(await cids()).toEqual(['before', 'first', 'second'])
    })
  })

  test('a change has a higher number than one that commits before it', async () => {
    await withClient(async first => {
      await first.query('BEGIN')
      await first.query('SELECT 1 FROM takedowns')
      await put('second')
      const second = await newest()
      await first.query(PUT, ['first'])
      expect([await newest(), await cids()]).toEqual([second, ['second']])
      await first.query('COMMIT')
      expect([await newest(), await cids()]).toEqual([second + 1, ['second', 'first']])
    })
  })

  test('a change that is rolled back has no number', async () => {
    await withClient(async first => {
      const before = await newest()
      await first.query('BEGIN')
      await first.query(PUT, ['first'])
      await first.query('ROLLBACK')
      expect(await newest()).toBe(before)
    })
  })

  test('a visible number means that all changes up to it are visible', async () => {
    const numbers = new Map<string, number>()
    const write = (client: pg.Client, writer: number) => async () => {
      for (let i = 0; i < 25; i++) {
        const cid = `w${writer} ${i}`
        await client.query('BEGIN')
        await client.query(PUT, [cid])
        const { rows } = await client.query<{ number: string }>('SELECT number FROM revisions')
        await client.query('COMMIT')
        numbers.set(cid, Number(rows[0]?.number))
      }
    }
    const observed: Array<[number, ReadonlySet<string>]> = []
    await withClient(one =>
      withClient(two =>
        withClient(async three => {
          let isOver = false
          const all = Promise.all([one, two, three].map((client, i) => write(client, i)()))
          const writing = all.finally(() => {
            isOver = true
          })
          while (!isOver) observed.push([await newest(), new Set(await cids())])
          await writing
        }),
      ),
    )
    expect(new Set(numbers.values()).size).toBe(75)
    for (const [number, known] of observed) {
      const missing = [...numbers].filter(([cid, own]) => own <= number && !known.has(cid))
      expect(missing).toEqual([])
    }
  })

  /** A node that counts how often it reads the changes. */
  const logOf = (node: string, clock: ManualClock) => {
    const applied = { times: 0 }
    const apply = async () => {
      await cids()
      applied.times++
      log.publish()
    }
    const log: FleetRevisions = new FleetRevisions({
      rows: rowsOf(node),
      clock,
      logger: silentLogger,
      node,
      apply,
      confirming: async () => undefined,
    })
    return { log, applied }
  }

  test('a change waits for the threads of another node, and names it', async () => {
    const clock = new ManualClock()
    const [here, there] = [logOf('here', clock).log, logOf('there', clock).log]
    await Promise.all([here.start(), there.start()])
    for (const node of ['here', 'there']) await seen(node, 'clock_timestamp()')
    const thread = there.follow(2)
    try {
      await put('c')
      const begun = clock.now()
      let pending: unknown
      const waiting = here.settled().then(left => {
        pending = left
      })
      there.look(await newest())
      await expect.poll(() => thread.isAwaited, PATIENCE).toBe(true)
      expect(pending).toBeUndefined()
      const later = () => {
        clock.advance(1_000)
        return pending
      }
      await expect.poll(later, PATIENCE).toEqual([{ node: 'there', thread: null }])
      expect(clock.now() - begun).toBeGreaterThanOrEqual(5_000)
      await waiting
      const next = thread.next(there.number)
      const looked = async () => {
        there.look(await newest())
        return (await confirmed('there')) === (await newest())
      }
      await expect.poll(looked, PATIENCE).toBe(true)
      expect(await here.settled()).toEqual([])
      thread.end()
      await expect(next).rejects.toThrow('ended')
    } finally {
      thread.end()
      await Promise.all([here.stop(), there.stop()])
    }
  })

  test('a change does not wait for nodes that cannot confirm it', async () => {
    // Its clock stands still, so a change that waits does not return.
    const { log } = logOf('here', new ManualClock())
    await log.start()
    try {
      await put('c')
      expect(await log.settled()).toEqual([])
      const there = [{ node: 'there', thread: null }]
      await setConfirmed('there', 0)
      await seen('there', "clock_timestamp() - INTERVAL '1 minute'")
      expect(await log.settled()).toEqual(there)
      await seen('there', 'clock_timestamp()')
      await setConfirmed('there', null)
      expect(await log.settled()).toEqual(there)
      await setConfirmed('there', await newest())
      expect(await log.settled()).toEqual([])
      await setConfirmed('there', 0)
      await database.command("UPDATE nodes SET state = 'forgotten' WHERE name = 'there'")
      expect(await log.settled()).toEqual([])
    } finally {
      await log.stop()
    }
  })

  test('a number that returns after a set-back is applied and confirmed again', async () => {
    const { log, applied } = logOf('here', new ManualClock())
    const before = await newest()
    await put('lost')
    const last = await newest()
    await log.start()
    try {
      expect([applied.times, await confirmed('here')]).toEqual([1, last])
      await database.command('UPDATE revisions SET number = $1', [before])
      await setConfirmed('here', before)
      await put('other')
      expect(await newest()).toBe(last)
      log.look(null)
      // A second confirmation of the start may come as late as this.
      await expect.poll(() => applied.times, PATIENCE).toBe(2)
      await expect.poll(() => confirmed('here'), PATIENCE).toBe(last)
      for (let i = 0; i < 2; i++) expect(await log.catchUp()).toBe(last)
      expect(applied.times).toBe(2)
    } finally {
      await log.stop()
    }
  })
})
