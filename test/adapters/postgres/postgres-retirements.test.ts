import { beforeEach, describe, expect, test } from 'vitest'
import { beginRetirement } from '../../../adapters/postgres/begin-retirement.ts'
import { LostPace } from '../../../adapters/postgres/lost-pace.ts'
import { NodeList } from '../../../adapters/postgres/node-list.ts'
import type { Postgres } from '../../../adapters/postgres/postgres.ts'
import type { MovedRoot } from '../../../src/catalogue/retirements.ts'
import { commit, DAG, dagOf, NO_LIMITS, NOW, record, request, SIZES } from '../../catalogue/content-support.ts'
import { holdsIn, rootsIn } from '../../catalogue/whole-reconciliation.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const OLD = { name: 'old', id: 'old', number: 0 }

describe('content of a retiring node', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })
  beforeEach(async () => {
    const node = 'INSERT INTO nodes (name, number, id, url, state, retire_to) VALUES ($1, $2, $1, $1, $3, $4)'
    await database.command(node, ['old', 0, 'retiring', 'new'])
    await database.command(node, ['new', 1, 'active', null])
  })

  const bothNodes = (run: (from: TestNode, to: TestNode) => Promise<void>) =>
    withNode(database, 'old', from => withNode(database, 'new', to => run(from, to), 1), 0)
  const staged = async ({ retirements, stage }: TestNode): Promise<MovedRoot[]> => {
    const { roots } = await retirements.roots(OLD, 0)
    const taken: MovedRoot[] = []
    for (const { id: from, codec, multihash } of roots) {
      taken.push({ from, backendId: 0, stagedRootId: await stage(0), dag: { codec, multihash, ...SIZES } })
    }
    return taken
  }
  const roots = ({ ledger }: TestNode): number => rootsIn(ledger).length
  const nodeOf = async (id: string, table = 'records') =>
    await database.reading.first<{ node: string; state: string }>(
      `SELECT node, state FROM holds WHERE id = (SELECT hold_id FROM ${table} WHERE id = $1)`,
      [id],
    )
  const countOf = async (table: string): Promise<number> =>
    (await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))?.count ?? 0
  /** Waits until so many statements wait for a lock of the table of holds. */
  const waitingForHolds = (count: number) =>
    expect.poll(() => countOf("pg_locks WHERE relation = 'holds'::regclass AND NOT granted")).toBe(count)

  test('moves all records of a root, and the former node becomes empty', async () => {
    await bothNodes(async (from, to) => {
      // More than one transaction moves.
      await commit(
        from,
        Array.from({ length: 60 }, (_, i) => record(`r${i}`, { accountId: i % 2 === 0 ? 'one' : 'two' })),
      )
      const before = await from.records.usage('one', NOW)
      expect(await to.retirements.finish(OLD)).toBe(false)
      expect(await to.retirements.move(await staged(to))).toBe(60)
      await from.records.finishRemovals()
      expect([roots(from), roots(to), holdsIn(from.ledger), holdsIn(to.ledger).length]).toEqual([0, 1, [], 60])
      expect((await from.records.get('r7'))?.status).toBe('pinned')
      expect(await from.records.usage('one', NOW)).toEqual(before)
      expect([await countOf('roots'), await countOf('holds')]).toEqual([1, 60])
      expect((await to.retirements.roots(OLD, 0)).roots).toEqual([])
      expect(await to.retirements.finish(OLD)).toBe(true)
      expect(await to.retirements.nodes()).toEqual([])
    })
  })

  test('a record keeps its former hold until the new one is placed', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      const moved = await staged(to)
      const { place } = to.ledger
      to.ledger.place = () => Promise.reject(new Error('it was killed'))
      await expect(to.retirements.move(moved)).rejects.toThrow('it was killed')
      to.ledger.place = place
      await from.records.finishRemovals()
      expect([await nodeOf('r1'), roots(from)]).toEqual([{ node: 'old', state: 'used' }, 1])
      expect(await to.retirements.move(moved)).toBe(1)
      await from.records.finishRemovals()
      expect([await nodeOf('r1'), roots(from), roots(to)]).toEqual([{ node: 'new', state: 'used' }, 0, 1])
    })
  })

  test('a record whose hold has changed meanwhile is not moved', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('removed'), record('replaced')])
      const moved = await staged(to)
      const { place } = to.ledger
      to.ledger.place = async wanted => {
        const placed = await place.call(to.ledger, wanted)
        await from.records.discard('removed')
        await database.command(
          "INSERT INTO holds (id, node, root_id, state) SELECT 'hold 999', node, root_id, 'used' FROM holds WHERE node = 'old' AND state = 'used' LIMIT 1",
        )
        await database.command("UPDATE records SET hold_id = 'hold 999' WHERE id = 'replaced'")
        return placed
      }
      expect(await to.retirements.move(moved)).toBe(0)
      expect(await to.records.get('removed')).toBeUndefined()
      expect(await nodeOf('replaced')).toEqual({ node: 'old', state: 'used' })
      expect([roots(to), holdsIn(to.ledger)]).toEqual([0, []])
    })
  })

  test('removed records in their undo period move, unreadable as before', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('removed')])
      const columns = await database.reading.first<{ names: string }>(
        `SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns
         WHERE table_name = 'removed_records' AND table_schema = current_schema() AND column_name <> 'change_id'`,
      )
      const names = columns?.names ?? ''
      await database.command(`INSERT INTO removed_records (${names}, change_id) SELECT ${names}, 1 FROM records`)
      await database.command("UPDATE holds SET state = 'kept'")
      await database.command('DELETE FROM records')
      expect(await to.retirements.move(await staged(to))).toBe(1)
      await from.records.finishRemovals()
      await to.records.finishRemovals()
      expect([await nodeOf('removed', 'removed_records'), roots(from), roots(to)]).toEqual([
        { node: 'new', state: 'kept' },
        0,
        1,
      ])
      const { until } = to.db.prepare<[], { until: number | null }>('SELECT live_until AS until FROM roots').get() ?? {}
      expect(until).toBe(0)
    })
  })

  test('records that wait on the retiring node wait on the other', async () => {
    await bothNodes(async (from, to) => {
      const waiting = record('waiting', { dag: dagOf('w') })
      await request(from, waiting, NO_LIMITS)
      const step = { node: OLD, homeOf: () => 0, now: NOW }
      const { changes, count } = await to.retirements.moveWaiting(step)
      expect([count, changes.map(({ record: { id, status } }) => [id, status])]).toEqual([1, [['waiting', 'pinning']]])
      const fetches = await database.reading.all<{ node: string }>(
        'SELECT node FROM fetches WHERE id = (SELECT fetch_id FROM records)',
      )
      expect(fetches).toEqual([{ node: 'new' }])
      expect((await to.retirements.moveWaiting(step)).count).toBe(0)
    })
  })

  test('does not retire with a hold that begins meanwhile', async () => {
    await bothNodes(async (_, to) => {
      const late = await database.connection()
      try {
        await late.query("BEGIN; INSERT INTO holds (id, node, state) VALUES ('hold 999', 'old', 'placing')")
        const finished = to.retirements.finish(OLD)
        await waitingForHolds(1)
        await late.query('COMMIT')
        expect(await finished).toBe(false)
      } finally {
        late.release(true)
      }
    })
  })

  test('begins no hold once it has retired', async () => {
    await bothNodes(async (from, to) => {
      const late = await database.connection()
      try {
        await late.query('BEGIN; LOCK TABLE holds IN ROW EXCLUSIVE MODE')
        const finished = to.retirements.finish(OLD)
        await waitingForHolds(1)
        const begun = commit(from, [record('r1')])
        const refused = expect(begun).rejects.toMatchObject({ code: 'UNAVAILABLE' })
        await waitingForHolds(2)
        await late.query('COMMIT')
        expect(await finished).toBe(true)
        await refused
      } finally {
        late.release(true)
      }
    })
  })

  test('a node to which content moves does not retire', async () => {
    await database.command(
      "INSERT INTO nodes (name, number, id, url, seen_at, clusters) VALUES ('next', 2, 'next', 'next', now(), '{}')",
    )
    await database.command("UPDATE nodes SET seen_at = now(), clusters = '{}'")
    const retire = () => beginRetirement(database, 'new', 'next')
    await expect(retire()).rejects.toThrow('the content of old still moves to new: wait until old has retired')
    await beginRetirement(database, 'old', 'next')
    await retire()
    expect(await countOf("nodes WHERE state = 'retiring' AND retire_to = 'next'")).toBe(2)
  })

  test('a node retires only if both nodes are up', async () => {
    await database.command("UPDATE nodes SET seen_at = now(), clusters = '{}'")
    for (const name of ['old', 'new']) {
      await database.command("UPDATE nodes SET seen_at = now() - interval '1 hour', state = 'active' WHERE name = $1", [
        name,
      ])
      await expect(beginRetirement(database, 'old', 'new')).rejects.toThrow(`the node ${name} is down: start it first`)
      await database.command('UPDATE nodes SET seen_at = now() WHERE name = $1', [name])
    }
  })

  test('names the clusters of the records that move', async () => {
    await database.command(`UPDATE nodes SET clusters = '{"near": "new"}' WHERE name = 'new'`)
    await bothNodes(async from => {
      await commit(from, [record('r1'), record('r2'), record('r3', { dag: dagOf('b'), clusterId: 'gone' })])
      const listed = await new NodeList(database.reading, new ManualClock(), new LostPace([])).list()
      expect(listed.map(({ id, waits }) => [id, waits])).toEqual([
        ['old', ['records of gone (in no configuration), near move to new']],
        ['new', []],
      ])
    })
  })

  test('a DAG that the other node already has stays one root', async () => {
    await bothNodes(async (from, to) => {
      await commit(to, [record('own', { clusterId: 'there' })])
      await commit(from, [record('moved')])
      expect(await to.retirements.move(await staged(to))).toBe(1)
      await from.records.finishRemovals()
      expect([roots(from), roots(to), await countOf('roots')]).toEqual([0, 1, 1])
      expect(to.ledger.find(0, DAG, 0)).toBeDefined()
    })
  })
})
