import { describe, expect, test } from 'vitest'
import { confirmAway } from '../../../adapters/postgres/copies/copy-presence.ts'
import { wantMoves } from '../../../adapters/postgres/copies/copy-sets.ts'
import { NodeList } from '../../../adapters/postgres/fleet/node-list.ts'
import { LostPace } from '../../../adapters/postgres/nodes/lost-pace.ts'
import { commit, DAG, dagOf, record } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { copiedNodes, NODES, nodeOf, TWO } from './copied-nodes.ts'

const DAY_MS = 86_400_000
const AFTER_MS = 1_800_000

describe('nodes of clusters with copies', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, copiesOf, dueOf, takeAll, walked } = copiedNodes()

  /** Sets the time since the last heartbeats of nodes. */
  const quiet = async (ms: number, ...names: string[]) => {
    const seen = "clock_timestamp() - $2 * INTERVAL '1 millisecond'"
    await db().command(`UPDATE nodes SET last_seen_at = ${seen} WHERE name = ANY($1)`, [names, ms])
  }
  const observe = async (node: TestNode, unbrokenMs = AFTER_MS) => {
    await (await copiesOf(node)).presence.observe(id => (id === 'near' ? AFTER_MS : undefined), unbrokenMs)
    await walked(node)
  }
  const others = async () => (await rows()).map(({ node, state }) => [node, state])
  const waits = async () =>
    (await new NodeList(db().reading, new ManualClock(), new LostPace([])).list()).flatMap(one => one.waits)
  /** Commits a content on `here`, and has the copy made. Returns the other nodes: the one with the copy first. */
  const copied = async (nodes: [TestNode, TestNode, TestNode]): Promise<[string, string]> => {
    await quiet(0, ...NODES)
    await commit(nodes[0], [record('r1')])
    await takeAll(nodes)
    const [[keeper = '']] = (await others()) as [[string]]
    return [keeper, keeper === 'there' ? 'third' : 'there']
  }
  /** Does that, and lets the node with the copy be away until another one has copied the content, too. */
  const copiedInAbsence = async (nodes: [TestNode, TestNode, TestNode]): Promise<[string, string]> => {
    const names = await copied(nodes)
    await quiet(AFTER_MS, names[0])
    await observe(nodes[0])
    await takeAll(nodes)
    return names
  }

  test('another node copies what a node has that is away', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [keeper, spare] = await copied(nodes)
      await quiet(AFTER_MS, keeper)
      await observe(nodes[0], AFTER_MS - 1)
      expect(await others()).toEqual([[keeper, 'have']])
      await observe(nodes[0])
      expect(await others()).toEqual(
        expect.arrayContaining([
          [keeper, 'have'],
          [spare, 'wanted'],
        ]),
      )
      expect(await waits()).toContain('it is away, and other nodes copy what it has of near')
    })
  })

  test('content of a node with records is copied while it is away', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [keeper, spare] = await copied(nodes)
      await quiet(AFTER_MS, 'here')
      await observe(nodes[1])
      expect(await others()).toEqual(
        expect.arrayContaining([
          [keeper, 'have'],
          [spare, 'wanted'],
        ]),
      )
    })
  })

  test('two nodes that are away wait for an operator, who names them', async () => {
    await configured({ near: { nodes: NODES, copies: 2 } })
    await withNodes(async nodes => {
      const [keeper, spare] = await copied(nodes)
      await quiet(AFTER_MS, keeper, 'here')
      await observe(nodeOf(nodes, spare))
      expect(await others()).toEqual([[keeper, 'have']])
      expect((await waits()).join()).toMatch(/more than one node of near is away: "holdfast node away"/)
      await expect(confirmAway(db(), ['nobody'])).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await expect(confirmAway(db(), [keeper, spare])).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await countOf('copy_absences')).toBe(0)
      await confirmAway(db(), [keeper, 'here'])
      await walked(nodes[0])
      expect(await others()).toEqual(expect.arrayContaining([[spare, 'wanted']]))
    })
  })

  test('one of two nodes is away: nothing waits for it', async () => {
    await configured({ near: { nodes: ['here', 'there'], copies: 2 } })
    await withNodes(async nodes => {
      await quiet(0, ...NODES)
      await quiet(AFTER_MS, 'there')
      await observe(nodes[0])
      await commit(nodes[0], [record('r1')])
      expect(await others()).toEqual([['there', 'wanted']])
      expect((await waits()).join()).toMatch(/1 content has its only copy on it/)
    })
  })

  test('copies made during an absence stay for a day', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [keeper, spare] = await copiedInAbsence(nodes)
      await quiet(0, keeper)
      await observe(nodes[0])
      const states = await others()
      expect(states.map(([, state]) => state).sort()).toEqual(['have', 'surplus'])
      const [surplus = ''] = states.find(([, state]) => state === 'surplus') ?? []
      const [{ due } = { due: 0 }] = await db().reading.all<{ due: number }>(
        "SELECT due_at AS due FROM copies WHERE state = 'surplus'",
      )
      expect(due - Date.now()).toBeGreaterThan(DAY_MS - 60_000)
      const node = nodeOf(nodes, surplus)
      const { freed, presence } = await copiesOf(node)
      expect(await freed.begin(Date.now(), 10, 0)).toEqual([])
      // The next absence uses the copy again, and copies nothing.
      await quiet(AFTER_MS, surplus === keeper ? spare : keeper)
      await observe(nodes[0])
      expect((await others()).map(([, state]) => state)).toEqual(['have', 'have'])
      await quiet(0, ...NODES)
      await observe(nodes[0])
      await presence.room(true)
      expect(await countOf(`copies WHERE node = '${surplus}' AND state = 'surplus' AND due_at > 0`)).toBe(0)
    })
  })

  test('a node that retires keeps no copy that an absence has made', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [keeper] = await copiedInAbsence(nodes)
      await quiet(0, keeper)
      await observe(nodes[0])
      const [node = ''] = (await others()).find(([, state]) => state === 'surplus') ?? []
      const kept = `copies WHERE node = '${node}' AND state = 'surplus' AND due_at > 0`
      expect(await countOf(kept)).toBe(1)
      await db().command("UPDATE nodes SET state = 'retiring', retire_to = 'here' WHERE name = $1", [node])
      await wantMoves(db())
      expect(await countOf(kept)).toBe(0)
      await db().command("UPDATE copies SET state = 'have' WHERE node = $1", [node])
      await walked(nodes[0])
      expect((await others()).find(([name]) => name === node)).toEqual([node, 'surplus'])
      expect(await countOf(kept)).toBe(0)
    })
  })

  test('a node that returns to no cluster is away no longer', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [keeper, spare] = await copiedInAbsence(nodes)
      await configured({ near: { nodes: ['here', spare], copies: 2 } })
      await quiet(0, keeper)
      await observe(nodes[0])
      expect(await countOf('copy_absences')).toBe(0)
      expect(await others()).toEqual(
        expect.arrayContaining([
          [keeper, 'surplus'],
          [spare, 'have'],
        ]),
      )
      expect(await waits()).toEqual([])
    })
  })

  test('a full node hands its copies on, and gets none', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      for (let i = 0; i < 20; i++) await commit(here, [record(`r${i}`, { dag: dagOf(`${i} `) })])
      const full = nodes[1]
      expect((await others()).filter(([node]) => node === 'there').length).toBeGreaterThan(0)
      const { presence } = await copiesOf(full)
      await presence.room(true)
      expect((await others()).map(([node]) => node)).toEqual(Array(20).fill('third'))
      await commit(here, [record('later', { dag: dagOf('later') })])
      expect((await others()).filter(([node]) => node === 'there')).toEqual([])
      expect(await waits()).toContain('it has no room for further copies')
      await presence.room(false)
      await walked(here)
      expect((await rows()).filter(({ node }) => node === 'there')).toEqual([])
      await takeAll(nodes)
      expect((await others()).map(([, state]) => state)).toEqual(Array(21).fill('have'))
    })
  })

  test('a full node keeps what no other node can take', async () => {
    await configured({ near: { nodes: ['here', 'there'], copies: 2 } })
    await withNodes(async nodes => {
      await (await copiesOf(nodes[1])).presence.room(true)
      await commit(nodes[0], [record('r1')])
      await (await copiesOf(nodes[1])).presence.room(true)
      expect(await others()).toEqual([['there', 'wanted']])
    })
  })

  test('copies of new content come before those of a walk', async () => {
    await configured({})
    await withNodes(async nodes => {
      const [here, there] = nodes
      await commit(here, [record('r1')])
      await configured({ near: { nodes: ['here', 'there'], copies: 2 } })
      await walked(here)
      await commit(here, [record('r2', { dag: dagOf('b') })])
      const copies = await copiesOf(there)
      const hashes = (due: Awaited<ReturnType<typeof dueOf>>) =>
        due.map(({ multihash }) => Buffer.from(multihash).toString('hex'))
      expect(hashes(await dueOf(copies))).toEqual([Buffer.from(dagOf('b').multihash).toString('hex')])
      expect(hashes(await dueOf(copies, false))).toEqual([Buffer.from(DAG.multihash).toString('hex')])
      expect([await copies.nextDue(true), await copies.nextDue(false)]).toEqual([0, 0])
      await takeAll(nodes)
      expect(await countOf('copies WHERE is_fresh')).toBe(0)
    })
  })
})
