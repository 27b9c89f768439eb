import { describe, expect, test } from 'vitest'
import { checkSets } from '../../../adapters/postgres/copies/copy-sets.ts'
import { NodeList } from '../../../adapters/postgres/fleet/node-list.ts'
import { PostgresPlaces } from '../../../adapters/postgres/holds/shared-places.ts'
import { LostPace } from '../../../adapters/postgres/nodes/lost-pace.ts'
import type { CopySets } from '../../../src/catalogue/copies.ts'
import { Possessor, PUBLIC } from '../../../src/ledger/possessor.ts'
import { commit, DAG, dagOf, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { copiedNodes, NODES, nodeOf, TWO } from './copied-nodes.ts'

describe('copies in a fleet', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, leftovers, copiesOf, dueOf, takeAll, walked, released, ledgerOf } =
    copiedNodes()

  test('one copy writes no row and enables no trigger', async () => {
    await configured({})
    await withNodes(async ([here]) => {
      await commit(here, [record('r1')])
      expect(await here.copies()).toBeNull()
      expect([await rows(), await countOf('copy_walk'), await countOf('copy_sets')]).toEqual([[], 0, 0])
      expect(await countOf("pg_trigger WHERE tgname LIKE '%_copies_%' AND tgenabled <> 'D'")).toBe(0)
    })
  })

  test('private content is copied, listed, repaired and freed, like public content', async () => {
    await configured({ near: { nodes: NODES, copies: 3 } })
    await withNodes(async nodes => {
      // The numbers of accounts have 48 bits.
      const owner = 277_787_132_714_389
      const dag = { ...DAG, owner }
      const [here, there] = nodes
      await commit(here, [record('r1', { owner })])
      const copies = await copiesOf(there)
      expect(await copies.sourcesOf(dag)).toEqual(['here'])
      await takeAll(nodes)
      await there.reconciliation.requeue({ backendId: 0, dag, homes: new Map(), reason: 'r', now: NOW })
      expect((await copies.placesOf(dag)).map(({ node, state }) => [node, state])).toEqual([
        ['here', 'have'],
        ['there', 'damaged'],
        ['third', 'have'],
      ])
      await takeAll(nodes)
      await configured({ near: { nodes: ['here', 'third'], copies: 2 } })
      await walked(here)
      const [going] = await copies.freed.begin(NOW, 10, NOW)
      expect(going !== undefined && (await copies.freed.end(going, going.places, NOW))).toBe(true)
      expect((await rows()).map(({ node, state }) => [node, state])).toEqual([['third', 'have']])
    })
  })

  test('the first record wants copies, and the last one ends them', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1'), record('r2', { accountId: 'two' })])
      expect((await rows()).map(({ state }) => state)).toEqual(['wanted'])
      await takeAll(nodes)
      expect((await rows()).map(({ state, ends }) => [state, ends])).toEqual([['have', null]])
      await here.records.discard('r1')
      expect(await countOf('copies')).toBe(1)
      await here.records.discard('r2')
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
      expect(nodes.flatMap(ledgerOf)).toEqual([])
    })
  })

  test('accounts on two nodes do not keep copies for each other', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here, there] = nodes
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' })])
      await takeAll(nodes)
      await here.records.discard('r1')
      // The record of `there` needs one more node.
      await takeAll(nodes)
      await there.records.discard('r2')
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
    })
  })

  test('last records that go at once on two nodes leave no copy', async () => {
    await configured(TWO)
    await withNodes(async ([here, there]) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' })])
      await db().command('DELETE FROM copies')
      let removing: Promise<unknown> = Promise.resolve()
      await db().transaction(async sql => {
        await sql.run("DELETE FROM records WHERE id = 'r1'")
        let isOver = false
        removing = db()
          .command("DELETE FROM records WHERE id = 'r2'")
          .finally(() => {
            isOver = true
          })
        const waiting = "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        await expect.poll(async () => isOver || (await countOf(waiting)) > 0).toBe(true)
      })
      await removing
      expect(await rows()).toEqual([])
    })
  })

  test('a node keeps as a copy what its last record leaves', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here, there] = nodes
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' }), record('r3', { accountId: 'two', expiresAt: NOW + 9 })])
      await takeAll(nodes)
      await db().command('DELETE FROM copies')
      await there.records.discard('r2')
      expect(await rows()).toEqual([])
      await there.records.discard('r3')
      expect(await rows()).toEqual([{ node: 'there', state: 'have', ends: null }])
      await released(nodes)
      expect(ledgerOf(there)).toEqual([{ until: null }])
      const copies = await copiesOf(there)
      while (await copies.compare());
      expect((await rows()).map(({ state }) => state)).toEqual(['have'])
      await here.records.discard('r1')
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
    })
  })

  test('a record of another cluster wants the copies of its own cluster', async () => {
    await configured({ far: { nodes: NODES, copies: 2 } })
    await withNodes(async ([here]) => {
      await commit(here, [record('r1')])
      expect(await rows()).toEqual([])
      await commit(here, [record('r2', { clusterId: 'far' })])
      expect(await countOf('copies')).toBe(1)
      await here.records.discard('r2')
      expect(await countOf('copies')).toBe(0)
    })
  })

  test('records on two nodes of the set are two copies', async () => {
    await configured(TWO)
    await withNodes(async ([here, there]) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' })])
      expect((await rows()).filter(({ node }) => node !== 'there')).toEqual([])
      await there.records.discard('r2')
      expect((await rows()).map(({ node }) => node).filter(node => node !== 'here')).toHaveLength(1)
    })
  })

  test('a copy ends with the last record of its content', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1', { expiresAt: 5_000 })])
      await takeAll(nodes)
      const [copy] = await rows()
      const keeper = nodeOf(nodes, copy?.node)
      expect([copy?.ends, ledgerOf(keeper)]).toEqual([5_000, [{ until: 5_000 }]])
      await commit(here, [record('r2', { expiresAt: 9_000 })])
      await released(nodes)
      expect(ledgerOf(keeper)).toEqual([{ until: 9_000 }])
      await here.records.discard('r2')
      await released(nodes)
      expect(ledgerOf(keeper)).toEqual([{ until: 5_000 }])
    })
  })

  test('a copy stays, unreadable, while a removed record may return', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      const change = { name: 'b', accountId: 'one', action: 'delete', selection: '', total: 1, undoMs: 1, createdAt: 0 }
      const { id } = await here.bulk.add(change as Parameters<typeof here.bulk.add>[0])
      await here.bulk.remove({ id, place: '', next: null, ids: ['r1'], now: NOW, isListed: true } as never)
      await released(nodes)
      const [copy] = await rows()
      const keeper = nodeOf(nodes, copy?.node)
      expect([copy?.state, copy?.ends, ledgerOf(keeper)]).toEqual(['have', 0, [{ until: 0 }]])
      while (await here.bulk.purge(id, NOW + 10));
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
    })
  })

  test('a content that becomes private ends its public copies', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      await here.records.setOwner({ accountId: 'one', id: 'r1', owner: 7, now: NOW })
      await released(nodes)
      expect((await rows()).map(({ state }) => state)).toEqual(['wanted'])
      expect(await countOf('copies WHERE owner = 7')).toBe(1)
      expect(nodes.slice(1).flatMap(ledgerOf)).toEqual([])
    })
  })

  test('a copy that nobody wants any more is not taken', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here, there, third] = nodes
      await commit(here, [record('r1')])
      const wanting = (await rows())[0]?.node === 'there' ? there : third
      const copies = await copiesOf(wanting)
      const [due] = await dueOf(copies)
      if (due === undefined) throw new Error('no copy is due')
      const { place } = wanting.ledger
      wanting.ledger.place = async wanted => {
        const placed = await place.call(wanting.ledger, wanted)
        await here.records.discard('r1')
        expect(ledgerOf(wanting)).toEqual([{ until: 0 }])
        return placed
      }
      const taken = { backendId: 0, stagedRootId: await wanting.stage(0), dag: { ...SIZES, ...DAG } }
      expect(await copies.take(due, taken)).toBe(false)
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
    })
  })

  test('locks the copies of several contents in one order', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1'), record('r2', { dag: dagOf('b') })])
      const blocker = await db().connection()
      try {
        await blocker.query('BEGIN')
        await blocker.query('SELECT 1 FROM copies WHERE multihash = $1 FOR UPDATE', [Buffer.from(DAG.multihash)])
        const removed = here.records.discardAll(['r2', 'r1'])
        await expect
          .poll(() => countOf("pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH%'"))
          .toBe(0)
        await expect
          .poll(() => countOf("pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"))
          .toBe(1)
        // The other content waits unlocked for its turn.
        expect((await db().reading.all('SELECT 1 FROM copies FOR UPDATE SKIP LOCKED')).length).toBe(1)
        await blocker.query('COMMIT')
        await removed
      } finally {
        blocker.release(true)
      }
      expect(await countOf('copies')).toBe(0)
    })
  })

  test('reads of a copy count for the accounts of its content', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      const [{ node, hold = '' } = { node: '' }] = await db().reading.all<{ node: string; hold?: string }>(
        'SELECT node, hold_id AS hold FROM copies',
      )
      const clock = new ManualClock()
      const found = await new PostgresPlaces(db()).find(DAG.multihash, new Possessor(PUBLIC, clock))
      const place = { liveUntil: null, isRoot: true, owner: 0, codec: DAG.codec }
      expect(found).toEqual([
        { ...place, node: 0 },
        { ...place, node: NODES.indexOf(node) },
      ])
      const payers = await here.egress.payersOf([hold], { now: NOW, month: 202_611 })
      expect(payers.map(({ accountId }) => accountId)).toEqual(['one'])
    })
  })

  test('each place of content is known, and why it waits', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      const [{ node } = { node: '' }] = await rows()
      const keeper = nodeOf(nodes, node)
      const copies = await copiesOf(keeper)
      const places = (state: string, reason: string | null) =>
        [
          { node: 'here', state: 'have', reason: null },
          { node, state, reason },
        ].sort((one, other) => (one.node < other.node ? -1 : 1))
      expect(await copies.placesOf({ ...DAG, owner: 0 })).toEqual(places('wanted', null))
      const [due] = await dueOf(copies)
      if (due === undefined) throw new Error('no copy is due')
      await copies.retry(due, NOW + 1, 'STORAGE_FULL')
      expect(await copies.placesOf({ ...DAG, owner: 0 })).toEqual(places('wanted', 'STORAGE_FULL'))
      const { states, waitsSince, reason } = await copies.counts()
      expect([states.wanted, states.have, typeof waitsSince, reason]).toEqual([1, 0, 'number', 'STORAGE_FULL'])
      const [, , last] = nodes
      expect((await (await copiesOf(last)).counts()).states.have).toBe(0)
      await takeAll(nodes.filter(one => one !== keeper))
      await copies.retry(due, 0, '')
      await takeAll([keeper])
      expect(await copies.placesOf({ ...DAG, owner: 0 })).toEqual(places('have', null))
    })
  })

  test('the list of nodes names what has only one copy', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      await commit(nodes[0], [record('r1'), record('r2', { dag: dagOf('b') })])
      const waits = async () => {
        const listed = await new NodeList(db().reading, new ManualClock(), new LostPace([])).list()
        return listed.flatMap(one => one.waits)
      }
      expect(await waits()).toEqual(expect.arrayContaining(['2 contents have their only copy on it']))
      expect((await waits()).join()).toMatch(/not made on it yet/)
      await takeAll(nodes)
      expect(await waits()).toEqual([])
    })
  })

  test('both sets are wanted until all nodes name the same', async () => {
    const larger: CopySets = { near: { nodes: NODES, copies: 3 } }
    await configured(TWO)
    await configured(larger, TWO)
    const sets = () => db().reading.all('SELECT copies FROM copy_sets ORDER BY copies')
    const agreed = async () => (await db().reading.first<{ agreed: boolean }>('SELECT agreed FROM copy_walk'))?.agreed
    expect([await sets(), await agreed()]).toEqual([[{ copies: 2 }, { copies: 3 }], false])
    await configured(larger)
    expect([await sets(), await agreed()]).toEqual([[{ copies: 3 }], true])
  })

  test('a node of the version before lets no set change', async () => {
    await configured(TWO, null)
    expect(await countOf('copy_sets')).toBe(0)
    await configured(TWO)
    await db().command("UPDATE nodes SET run = 'old' WHERE name = 'there'")
    await configured({}, null)
    expect(await countOf('copy_sets')).toBe(1)
  })

  test('refuses a set with a node that never joined', () => {
    const known = new Set(['here', 'there'])
    expect(() => checkSets(TWO, known)).toThrow('near names the node third, which has never joined')
    expect(() => checkSets(TWO, new Set([...known, 'third']))).not.toThrow()
  })

  test('a walk wants copies of earlier content, and goes on', async () => {
    await configured({})
    await withNodes(async nodes => {
      const [here] = nodes
      for (let i = 0; i < 150; i++) await commit(here, [record(`r${i}`, { dag: dagOf(`${i} `) })])
      await configured(TWO)
      expect(await countOf('copies')).toBe(0)
      expect(await (await copiesOf(here)).walk()).toBe(true)
      expect(await countOf('copies')).toBe(100)
      await walked(nodes[1])
      expect(await countOf('copies')).toBe(150)
    })
  })

  test('a copy that no set wants becomes surplus, and is wanted again', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      await configured({})
      await walked(here)
      expect((await rows()).map(({ state }) => state)).toEqual(['surplus'])
      await configured(TWO)
      await walked(here)
      expect((await rows()).map(({ state }) => state)).toEqual(['have'])
    })
  })
})
