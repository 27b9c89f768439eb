import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { Nodes } from '../../../adapters/postgres/fleet/postgres-nodes.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import type { LostContent } from '../../../src/catalogue/lost-content.ts'
import { featureTables } from '../../../src/features/feature-list.ts'
import { commit, NO_LIMITS, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { holdsIn } from '../../catalogue/whole-reconciliation.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withAccounts, withNode } from './catalogue-in-postgres.ts'
import { filledWith } from './filled-node.ts'

describe('records of a lost node', needsPostgres, () => {
  let server: TestPostgres
  let database: Postgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  beforeEach(async () => {
    database = await Postgres.open({ url: await server.fresh() })
    await migrate(database, migrations)
    await withAccounts(database)
    return () => database.close()
  })
  afterAll(() => server?.stop())

  const forgotten = async (records: number, run: (lost: LostContent, node: TestNode) => Promise<void>) => {
    await filledWith(database, { name: 'lost', account: 'one', records })
    await new Nodes(database, new ManualClock(), 'here').forget('lost')
    await withNode(database, 'here', node =>
      run(postgresContent(database, node.ledger, { name: 'here', number: 0, tables: featureTables }).work.lost, node),
    )
  }
  /** Takes over all that it can, and returns how much that was. */
  const pass = async (lost: LostContent, homeOf: () => number | null = () => 0, canFetch = false) => {
    const [node] = await lost.nodes()
    if (node === undefined) throw new Error('no node is lost')
    expect(await lost.fence(node)).toBe(true)
    let [taken, left] = [0, 0]
    for (let after: string | null = ''; after !== null; ) {
      const step = { node, after, homeOf, canFetch: async () => canFetch, now: 5 }
      const of: Awaited<ReturnType<LostContent['takeOver']>> = await lost.takeOver(step)
      taken += of.taken
      left += of.left
      after = of.last
    }
    if (taken === 0 && left === 0) expect(await lost.finish(node)).toBe(true)
    return [taken, left]
  }
  const count = async (where: string): Promise<number> =>
    (await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${where}`))?.count ?? 0

  const insertNodes = async (): Promise<void> => {
    const node = 'INSERT INTO nodes (name, number, id, url) VALUES ($1, $2, $1, $1)'
    for (const [i, name] of ['here', 'lost'].entries()) await database.command(node, [name, i])
  }

  test('wait while a webhook would drop their deliveries', async () => {
    await forgotten(500, async lost => {
      await database.command(
        "INSERT INTO webhooks (id, account_id, url, secret, created_at) VALUES ('w', 'one', '', '', 0)",
      )
      expect(await pass(lost)).toEqual([200, 300])
      expect(await pass(lost)).toEqual([150, 150])
      for (let i = 0; i < 20 && (await count("records WHERE status = 'pinned'")) > 0; i++) {
        await database.command("DELETE FROM jobs WHERE kind = 'delivery'")
        await database.command('UPDATE webhooks SET waiting = 0')
        await pass(lost)
      }
      expect(await count("records WHERE status = 'failed' AND status_reason = 'lost with node lost'")).toBe(500)
      expect(await count('deliveries')).toBe(500)
      expect(await count('webhooks WHERE dropped > 0')).toBe(0)
    })
  })

  test('stay on another node that takes them over during the pass', async () => {
    await forgotten(1, async lost => {
      const other = await database.connection()
      try {
        // The pass has read its page, and waits for the deliveries of the account.
        await other.query('BEGIN; LOCK TABLE webhooks')
        const passed = pass(lost, () => 0, true)
        await expect.poll(() => count('pg_locks WHERE NOT granted'), { timeout: 60_000 }).toBe(1)
        await other.query(`INSERT INTO holds (id, node, root_id, state) SELECT 'hold 999', 'other', root_id, 'used' FROM records;
          UPDATE records SET hold_id = 'hold 999'; COMMIT`)
        await passed
        const kept =
          "records JOIN holds ON holds.id = hold_id WHERE status = 'pinned' AND node = 'other' AND state = 'used'"
        expect(await count(kept)).toBe(1)
        expect(await count('fetches')).toBe(0)
      } finally {
        other.release(true)
      }
    })
  })

  test('free the storage of their account once', async () => {
    await forgotten(120, async lost => {
      expect(await pass(lost)).toEqual([120, 0])
      expect(await count('accounts WHERE stored_bytes > 0')).toBe(0)
      expect(await count("accounts WHERE id = 'one' AND pins = 120")).toBe(1)
      expect(await pass(lost)).toEqual([0, 0])
      for (const table of ['holds', 'roots', 'fetches']) expect([table, await count(table)]).toEqual([table, 0])
    })
  })

  test('leave no offers of the node', async () => {
    await forgotten(450, async (lost, { offers }) => {
      await database.command(
        "INSERT INTO offers SELECT id, 'lost', cluster_id, hold_id, root_id FROM records WHERE account_id = 'one'",
      )
      expect((await offers.open({ homes: new Map([['near', 0]]), after: null, limit: 9 })).offers).toEqual([])
      for (let i = 0; i < 2; i++) await pass(lost)
      expect([await count('offers'), await count("nodes WHERE state = 'forgotten'")]).toEqual([0, 1])
    })
  })

  test('stay for the node of their cluster', async () => {
    await forgotten(3, async lost => {
      expect(await pass(lost, () => null)).toEqual([0, 3])
      expect(await count("records WHERE status = 'pinned'")).toBe(3)
      expect(await count("nodes WHERE state = 'forgetting'")).toBe(1)
    })
  })

  test('are fetched, and fail with the node if nobody has them', async () => {
    await forgotten(2, async (lost, { fetches }) => {
      expect(await pass(lost, () => 0, true)).toEqual([2, 0])
      expect(await count("records WHERE status = 'pinning' AND root_id IS NULL AND hold_id IS NULL")).toBe(2)
      const { jobs } = await fetches.due({ now: 10, after: '', accounts: 9, each: 9 })
      const reason = { code: 'CID_NOT_FOUND' as const, text: 'CID_NOT_FOUND: no provider has it' }
      for (const { id } of jobs) {
        await fetches.start(id, 10)
        await fetches.fail(id, { reason, retryAt: 60, blocks: 0, bytes: 0, charge: 0 }, 11)
      }
      const text = "status_code = 'LOST' AND status_reason = 'lost with node lost: CID_NOT_FOUND: no provider has it'"
      expect(await count(`records WHERE ${text}`)).toBe(2)
      expect(await count("jobs WHERE kind = 'fetch'")).toBe(0)
    })
  })

  test('are listed in pages, of all accounts or of one', async () => {
    await forgotten(3, async lost => {
      await pass(lost, () => 0, true)
      const rows = await database.reading.all<{ id: string }>('SELECT id FROM records ORDER BY id')
      const [first = '', second = '', third = ''] = rows.map(({ id }) => id)
      await database.command("UPDATE records SET account_id = 'two' WHERE id = $1", [first])
      const nodes = new Nodes(database, new ManualClock(), 'here')
      const listed = async (account?: string) => {
        const pages: string[][] = []
        for (let after: string | null = ' '; after !== null && pages.length < 5; ) {
          const page: Awaited<ReturnType<typeof nodes.lost>> = await nodes.lost({ after, limit: 2, account })
          pages.push(page.rows.map(({ uploadId }) => uploadId))
          after = page.next
        }
        return pages
      }
      expect(await listed()).toEqual([[second, third], [first]])
      expect([await listed('one'), await listed('two')]).toEqual([[[second, third]], [[first]]])
    })
  })

  test('stay failed if they have failed before', async () => {
    await filledWith(database, { name: 'lost', account: 'one', records: 1 })
    await database.command("UPDATE records SET status = 'failed'")
    await new Nodes(database, new ManualClock(), 'here').forget('lost')
    await withNode(database, 'here', async node => {
      const { lost } = postgresContent(database, node.ledger, { name: 'here', number: 0 }).work
      await pass(lost, () => 0, true)
    })
    expect(await count("records WHERE status = 'failed' AND fetch_id IS NULL")).toBe(1)
  })

  test('wait for transactions that began before the node was given up', async () => {
    await filledWith(database, { name: 'lost', account: 'one', records: 1 })
    const late = await database.connection()
    try {
      await late.query("BEGIN; INSERT INTO holds (id, node, state) VALUES ('hold 999999', 'lost', 'placing')")
      await new Nodes(database, new ManualClock(), 'here').forget('lost')
      await withNode(database, 'here', async ({ ledger }) => {
        const { lost } = postgresContent(database, ledger, { name: 'here', number: 0 }).work
        const [node] = await lost.nodes()
        if (node === undefined) throw new Error('no node is lost')
        expect(await lost.fence(node)).toBe(false)
        await late.query('COMMIT')
        expect(await lost.fence(node)).toBe(true)
        expect(await count("holds WHERE id = 'hold 999999' AND state = 'void'")).toBe(1)
      })
    } finally {
      late.release(true)
    }
  })

  test('get the content of an identical upload before their turn', async () => {
    await insertNodes()
    const fill = async (lost: TestNode): Promise<void> => {
      await commit(lost, [record('r1', { name: 'same' })])
    }
    await withNode(database, 'lost', fill, 1)
    await new Nodes(database, new ManualClock(), 'here').forget('lost')
    await withNode(database, 'here', async here => {
      const [made] = await commit(here, [record('r2', { name: 'same' })])
      expect(made).toMatchObject({ created: false, record: { id: 'r1', status: 'pinned' } })
      const { lost } = postgresContent(database, here.ledger, { name: 'here', number: 0 }).work
      expect(await pass(lost)).toEqual([0, 0])
      expect(await count("records JOIN holds ON holds.id = hold_id WHERE node = 'here' AND status = 'pinned'")).toBe(1)
      expect(await here.records.usage('one', NOW)).toEqual({ pins: 1, expiringPins: 0, storedBytes: SIZES.charge })
      expect([await count('holds'), await count('roots'), holdsIn(here.ledger).length]).toEqual([1, 1, 1])
    })
  })

  /** Runs with a lost node whose record `r1` a job has removed. Gives the step that restores the record. */
  const removed = async (
    run: (lost: LostContent, here: TestNode, restore: () => Promise<unknown>) => Promise<void>,
  ) => {
    await insertNodes()
    const change = {
      name: 'job',
      accountId: 'one',
      action: 'delete' as const,
      selection: '["r1"]',
      undoMs: 100,
      total: 1,
    }
    const step = { id: 0, place: '', next: null, ids: ['r1'], now: NOW }
    const fill = async (lost: TestNode): Promise<void> => {
      await commit(lost, [record('r1')])
      step.id = (await lost.bulk.add({ ...change, createdAt: NOW })).id
      expect(await lost.bulk.remove({ ...step, isListed: true })).toHaveLength(1)
    }
    await withNode(database, 'lost', fill, 1)
    await new Nodes(database, new ManualClock(), 'here').forget('lost')
    await withNode(database, 'here', async here => {
      const { lost } = postgresContent(database, here.ledger, { name: 'here', number: 0 }).work
      await here.bulk.undo({ accountId: 'one', name: 'job', limits: NO_LIMITS, now: NOW })
      await run(lost, here, () => here.bulk.restore({ ...step, limits: NO_LIMITS }))
    })
  }

  test('are taken over if an undo restores them behind a pass', async () => {
    await removed(async (lost, here, restore) => {
      const [node] = await lost.nodes()
      if (node === undefined) throw new Error('no node is lost')
      const step = { node, after: '', homeOf: () => 0, canFetch: async () => false, now: 5 }
      expect(await lost.takeOver(step)).toMatchObject({ taken: 0, left: 0, last: null })
      await restore()
      expect(await lost.finish(node)).toBe(false)
      expect(await count("records WHERE status = 'pinned'")).toBe(1)
      expect([await pass(lost), await pass(lost)]).toEqual([
        [1, 0],
        [0, 0],
      ])
      expect(await count("records WHERE status = 'failed' AND lost_with = 'lost' AND hold_id IS NULL")).toBe(1)
      expect(await here.records.usage('one', NOW)).toEqual({ pins: 1, expiringPins: 0, storedBytes: 0 })
    })
  })

  test('keep their removed rows while an undo has the account', async () => {
    await removed(async (lost, _, restore) => {
      const late = await database.connection()
      try {
        await late.query("BEGIN; SELECT 1 FROM accounts WHERE id = 'one' FOR UPDATE")
        const passed = pass(lost)
        await expect.poll(() => count('pg_locks WHERE NOT granted'), { timeout: 60_000 }).toBe(1)
        expect(await count("removed_records WHERE status = 'pinned' AND hold_id IS NOT NULL")).toBe(1)
        await late.query('COMMIT')
        expect(await passed).toEqual([0, 0])
        await restore()
        expect(await count("records WHERE status = 'failed' AND root_id IS NULL AND hold_id IS NULL")).toBe(1)
      } finally {
        late.release(true)
      }
    })
  })

  test('keep their content if the node still runs, cut off', async () => {
    await insertNodes()
    const run = async (cutOff: TestNode): Promise<void> => {
      await commit(cutOff, [record('r1')])
      await new Nodes(database, new ManualClock(), 'here').forget('lost')
      await withNode(database, 'here', async ({ ledger }) => {
        const { lost } = postgresContent(database, ledger, { name: 'here', number: 0 }).work
        expect(await pass(lost)).toEqual([1, 0])
        expect(await count("holds WHERE state = 'void'")).toBe(1)
        await cutOff.records.finishRemovals()
        expect(holdsIn(cutOff.ledger)).toHaveLength(1)
      })
    }
    await withNode(database, 'lost', run, 1)
  })

  test('cannot become more if the node still runs, cut off', async () => {
    await filledWith(database, { name: 'lost', account: 'one', records: 0 })
    await withNode(
      database,
      'lost',
      async ({ ledger }) => {
        const { content } = postgresContent(database, ledger, { name: 'lost', number: 7 })
        const record = { accountId: 'one', codec: 85, multihash: new Uint8Array(34) }
        await new Nodes(database, new ManualClock(), 'here').forget('lost')
        const limits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
        const request = { owner: 0, backendId: 0, record, origins: [], limits, now: 1 } as never
        await expect(content.fetches.request(request)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
        expect(await count('holds')).toBe(0)
      },
      7,
    )
  })
})
