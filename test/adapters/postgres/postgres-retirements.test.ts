import { beforeEach, describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { beginRetirement } from '../../../adapters/postgres/fleet/begin-retirement.ts'
import { NodeList } from '../../../adapters/postgres/fleet/node-list.ts'
import { LostPace } from '../../../adapters/postgres/nodes/lost-pace.ts'
import { FRAMES_RUN } from '../../../adapters/postgres/nodes/node-states.ts'
import type { Copies } from '../../../src/catalogue/copies.ts'
import { commit, DAG, dagOf, NO_LIMITS, NOW, record, request, SIZES } from '../../catalogue/content-support.ts'
import { holdsIn, rootsIn } from '../../catalogue/whole-reconciliation.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const OLD = { name: 'old', id: 'old', number: 0, isRetiring: true }
/** The triggers that follow the records. */
const FOLLOWED = "pg_trigger WHERE tgname LIKE '%_copies_%' AND tgenabled <> 'D'"

describe('content of a retiring node', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })
  beforeEach(async () => {
    const node = 'INSERT INTO nodes (name, number, id, url, run, state, retire_to) VALUES ($1, $2, $1, $1, $3, $4, $5)'
    await database.command(node, ['old', 0, `${FRAMES_RUN}old`, 'retiring', 'new'])
    await database.command(node, ['new', 1, `${FRAMES_RUN}new`, 'active', null])
  })

  const bothNodes = (run: (from: TestNode, to: TestNode) => Promise<void>) =>
    withNode(database, 'old', from => withNode(database, 'new', to => run(from, to), 1), 0)
  const copiesOf = async ({ copies }: TestNode): Promise<Copies> => {
    const found = await copies()
    if (found === null) throw new Error('nothing moves')
    return found
  }
  /** Decides which copies the content needs. */
  const wanted = async (node: TestNode): Promise<Copies> => {
    await node.lost.moveWaiting({ node: OLD, homeOf: () => 0, now: NOW })
    const copies = await copiesOf(node)
    while (await copies.walk());
    return copies
  }
  /** Copies the content to a node, which takes over the records. */
  const move = async (node: TestNode): Promise<void> => {
    const copies = await wanted(node)
    const dueOf = (isFresh: boolean) => copies.due({ isFresh, now: NOW, limit: 100 })
    for (const due of [...(await dueOf(true)), ...(await dueOf(false))]) {
      const { codec, multihash, owner } = due
      await copies.take(due, {
        backendId: 0,
        stagedRootId: await node.stage(0),
        dag: { ...SIZES, codec, multihash, owner },
      })
    }
  }
  const promote = async (node: TestNode): Promise<void> => {
    while (await (await copiesOf(node)).promote());
  }
  /** Runs `change` instead of the second time that the ledger places holds: those of the moved records. */
  const beforeMove = (node: TestNode, change: () => Promise<unknown>): (() => void) => {
    const { place } = node.ledger
    let times = 0
    node.ledger.place = async wantedHolds => {
      times++
      const placed = await place.call(node.ledger, wantedHolds)
      if (times === 2) await change()
      return placed
    }
    return () => {
      node.ledger.place = place
    }
  }
  const killedMove = async (node: TestNode): Promise<void> => {
    const restore = beforeMove(node, () => Promise.reject(new Error('it was killed')))
    await expect(move(node)).rejects.toThrow('it was killed')
    restore()
  }
  /** Adds a node, and a cluster with two copies on the other two nodes. */
  const third = async (): Promise<void> => {
    const node = "INSERT INTO nodes (name, number, id, url, run) VALUES ('third', 2, 'third', 'third', $1)"
    await database.command(node, [`${FRAMES_RUN}third`])
    await database.command("INSERT INTO copy_sets (cluster_id, nodes, copies) VALUES ('near', '{new,third}', 2)")
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
      expect(await to.lost.finishRetirement(OLD)).toBe(false)
      await move(to)
      await from.records.finishRemovals()
      expect([roots(from), roots(to), holdsIn(from.ledger), holdsIn(to.ledger).length]).toEqual([0, 1, [], 60])
      expect((await from.records.get('r7'))?.status).toBe('pinned')
      expect(await from.records.usage('one', NOW)).toEqual(before)
      expect([await countOf('roots'), await countOf('holds'), await countOf('copies')]).toEqual([1, 60, 0])
      expect(await countOf(FOLLOWED)).toBe(7)
      expect(await to.lost.finishRetirement(OLD)).toBe(true)
      expect(await to.lost.nodes()).toEqual([])
      // A fleet with one copy pays for none again.
      await (await copiesOf(to)).walk()
      expect([await countOf(FOLLOWED), await countOf('copy_walk')]).toEqual([0, 0])
    })
  })

  test('a record keeps its former hold until the new one is placed', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      await killedMove(to)
      await from.records.finishRemovals()
      expect([await nodeOf('r1'), roots(from)]).toEqual([{ node: 'old', state: 'used' }, 1])
      await promote(to)
      await from.records.finishRemovals()
      expect([await nodeOf('r1'), roots(from), roots(to)]).toEqual([{ node: 'new', state: 'used' }, 0, 1])
    })
  })

  test('a record whose hold has changed meanwhile is not moved', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('removed'), record('replaced')])
      beforeMove(to, async () => {
        await from.records.discard('removed')
        await database.command(
          "INSERT INTO holds (id, node, root_id, state) SELECT 'hold 999', node, root_id, 'used' FROM holds WHERE node = 'old' AND state = 'used' LIMIT 1",
        )
        await database.command("UPDATE records SET hold_id = 'hold 999' WHERE id = 'replaced'")
      })
      await move(to)
      expect(await to.records.get('removed')).toBeUndefined()
      expect(await nodeOf('replaced')).toEqual({ node: 'old', state: 'used' })
      // The copy alone is left on the other node.
      expect([roots(to), holdsIn(to.ledger).length]).toEqual([1, 1])
      await promote(to)
      expect(await nodeOf('replaced')).toEqual({ node: 'new', state: 'used' })
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
      await move(to)
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
      const { changes, isMore } = await to.lost.moveWaiting(step)
      expect([isMore, changes.map(({ record: { id, status } }) => [id, status])]).toEqual([
        true,
        [['waiting', 'pinning']],
      ])
      const fetches = await database.reading.all<{ node: string }>(
        'SELECT node FROM fetches WHERE id = (SELECT fetch_id FROM records)',
      )
      expect(fetches).toEqual([{ node: 'new' }])
      expect((await to.lost.moveWaiting(step)).isMore).toBe(false)
      expect(await countOf('records WHERE lost_with IS NOT NULL')).toBe(0)
    })
  })

  test('does not retire with a hold that begins meanwhile', async () => {
    await bothNodes(async (_, to) => {
      const late = await database.connection()
      try {
        await late.query("BEGIN; INSERT INTO holds (id, node, state) VALUES ('hold 999', 'old', 'placing')")
        const finished = to.lost.finishRetirement(OLD)
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
        const finished = to.lost.finishRetirement(OLD)
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
    await bothNodes(async (from, to) => {
      await wanted(to)
      await commit(from, [record('r1'), record('r2'), record('r3', { dag: dagOf('b'), clusterId: 'gone' })])
      const listed = await new NodeList(database.reading, new ManualClock(), new LostPace([])).list()
      expect(listed.map(({ id, waits }) => [id, waits])).toEqual([
        ['old', ['records of gone (in no configuration), near move to new', '2 contents have their only copy on it']],
        ['new', [expect.stringContaining('2 copies are not made on it yet')]],
      ])
    })
  })

  test('a DAG that the other node already has stays one root', async () => {
    await bothNodes(async (from, to) => {
      await commit(to, [record('own', { clusterId: 'there' })])
      await commit(from, [record('moved')])
      await move(to)
      await from.records.finishRemovals()
      expect([roots(from), roots(to), await countOf('roots')]).toEqual([0, 1, 1])
      expect(to.ledger.find(0, DAG, 0)).toBeDefined()
    })
  })

  test('keeps its content until all wanted copies are sound', async () => {
    await third()
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      await move(to)
      expect([await nodeOf('r1'), await countOf("copies WHERE state = 'have'")]).toEqual([
        { node: 'old', state: 'used' },
        1,
      ])
      const compared = `${FRAMES_RUN}third `
      // A damaged copy, and one that its node has not compared since its start.
      for (const [state, run] of [
        ['damaged', compared],
        ['have', 'before'],
      ] as const) {
        const copy = "UPDATE copies SET state = $1, run = $2, hold_id = 'hold 998' WHERE node = 'third'"
        await database.command(copy, [state, run])
        await promote(to)
        expect((await nodeOf('r1'))?.node).toBe('old')
      }
      await database.command("UPDATE copies SET run = $1 WHERE node = 'third'", [compared])
      await promote(to)
      expect((await nodeOf('r1'))?.node).toBe('new')
    })
  })

  test('wants the copies before the walk has reached the content', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      await killedMove(to)
      await third()
      await promote(to)
      expect([await nodeOf('r1'), await countOf("copies WHERE state = 'wanted'")]).toEqual([
        { node: 'old', state: 'used' },
        1,
      ])
    })
  })

  test('moves no record to a damaged copy or a retiring node', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      await killedMove(to)
      const { isLostFrom } = to.ledger
      to.ledger.isLostFrom = () => true
      await promote(to)
      expect((await nodeOf('r1'))?.node).toBe('old')
      to.ledger.isLostFrom = isLostFrom
      await database.command("UPDATE nodes SET state = 'retiring' WHERE name = 'new'")
      await promote(to)
      expect((await nodeOf('r1'))?.node).toBe('old')
      await database.command("UPDATE nodes SET state = 'active' WHERE name = 'new'")
      await promote(to)
      expect((await nodeOf('r1'))?.node).toBe('new')
    })
  })

  test('another node in --to takes what has not moved yet', async () => {
    await bothNodes(async (from, to) => {
      await commit(from, [record('r1')])
      const copies = await wanted(to)
      expect((await copies.due({ isFresh: false, now: NOW, limit: 1 })).map(({ clusterId }) => clusterId)).toEqual([
        'near',
      ])
      await third()
      await database.command('DELETE FROM copy_sets')
      await database.command('UPDATE copy_walk SET place = 0')
      await database.command("UPDATE nodes SET retire_to = 'third' WHERE name = 'old'")
      await wanted(to)
      expect(await database.reading.all('SELECT node, state FROM copies')).toEqual([{ node: 'third', state: 'wanted' }])
      await from.records.discard('r1')
      expect(await countOf('copies')).toBe(0)
    })
  })

  test('a node that a set names does not retire', async () => {
    await database.command("UPDATE nodes SET seen_at = now(), clusters = '{}', state = 'active'")
    const sets = JSON.stringify({ near: { nodes: ['new', 'old'], copies: 2 } })
    await database.command("UPDATE nodes SET copy_sets = $1 WHERE name = 'new'", [sets])
    await expect(beginRetirement(database, 'old', 'new')).rejects.toThrow('new was started with near on old')
  })
})
