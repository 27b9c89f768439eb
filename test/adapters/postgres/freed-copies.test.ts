import { describe, expect, test } from 'vitest'
import { changeState } from '../../../adapters/postgres/nodes/node-states.ts'
import type { CopySets, FreedCopy } from '../../../src/catalogue/copies.ts'
import { commit, DAG, dagOf, NOW, record } from '../../catalogue/content-support.ts'
import { whole } from '../../catalogue/whole-reconciliation.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { copiedNodes, NODES, nodeOf, TWO } from './copied-nodes.ts'

const LATER = NOW + 60_000
const THREE: CopySets = { near: { nodes: NODES, copies: 3 } }

describe('surplus copies', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, copiesOf, takeAll, walked, ledgerOf } = copiedNodes()

  /** Lets a content have copies on both other nodes, of which the sets then want fewer. */
  const withSurplus = (sets: CopySets, run: (nodes: [TestNode, TestNode, TestNode]) => Promise<void>) =>
    withNodes(async nodes => {
      await configured(THREE)
      await commit(nodes[0], [record('r1')])
      await takeAll(nodes)
      await configured(sets)
      await walked(nodes[0])
      await run(nodes)
    })
  const states = async () => Object.fromEntries((await rows()).map(({ node, state }) => [node, state]))
  const surplusOf = async (nodes: readonly TestNode[]): Promise<TestNode> => {
    const found = (await rows()).find(({ state }) => state === 'surplus')
    return nodeOf(nodes, found?.node)
  }
  const begin = async (node: TestNode, now = NOW): Promise<FreedCopy[]> =>
    (await copiesOf(node)).freed.begin(now, 10, LATER)
  const end = async (node: TestNode, [copy]: FreedCopy[], sound = copy?.places ?? []): Promise<boolean> =>
    copy !== undefined && (await (await copiesOf(node)).freed.end(copy, sound, LATER))

  test('goes after the others have said that they have the content', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      const going = await begin(node)
      expect(going[0]?.places.map(place => place.node)).toContain('here')
      expect(Object.values(await states()).toSorted()).toEqual(['going', 'have'])
      expect(await end(node, going)).toBe(true)
      expect([Object.values(await states()), ledgerOf(node), await countOf('roots')]).toEqual([['have'], [], 2])
    })
  })

  test('stays if a node that is counted on lacks it', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      const going = await begin(node)
      const [{ places } = { places: [] }] = going
      expect(
        await end(
          node,
          going,
          places.filter(place => place.node !== 'here'),
        ),
      ).toBe(false)
      expect(Object.values(await states()).toSorted()).toEqual(['have', 'surplus'])
      expect([await begin(node), (await begin(node, LATER)).length]).toEqual([[], 1])
    })
  })

  test('two that count on each other do not both go', async () => {
    await withSurplus({}, async nodes => {
      const [here, there, third] = nodes
      await db().transaction(sql => changeState(sql, 'here', { from: 'active', to: 'forgetting' }))
      expect(Object.values(await states())).toEqual(['surplus', 'surplus'])
      const going = await begin(there)
      expect([going.length, await begin(third)]).toEqual([1, []])
      expect(await end(there, going)).toBe(true)
      expect(await begin(third, LATER)).toEqual([])
      expect((await here.records.get('r1'))?.status).toBe('pinned')
    })
  })

  test('a copy does not count before its node has compared it', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      const other = (await rows()).find(({ state }) => state === 'have')?.node ?? ''
      await db().command('UPDATE nodes SET run = $2 WHERE name = $1', [other, 'frames-again'])
      expect(await begin(node)).toEqual([])
    })
  })

  test('stays if a node has started again since the mark', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      const going = await begin(node)
      await db().command("UPDATE nodes SET run = 'frames-again' WHERE name = 'here'")
      expect(await end(node, going)).toBe(false)
      expect(Object.values(await states()).toSorted()).toEqual(['have', 'surplus'])
    })
  })

  test('nothing goes while a node has content to offer', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      await db().command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('s', 'p', 'here')")
      for (const one of nodes) while (await (await copiesOf(one)).compare());
      expect(await begin(node)).toEqual([])
    })
  })

  test('nothing goes while the nodes name different sets', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      await db().command('UPDATE copy_walk SET agreed = FALSE')
      expect(await begin(node)).toEqual([])
    })
  })

  test('a damaged copy is repaired, and not freed before', async () => {
    await withSurplus(TWO, async nodes => {
      const node = await surplusOf(nodes)
      const dag = { ...dagOf('a'), owner: 0 }
      const damage = { backendId: 0, dag, homes: new Map(), reason: 'r', now: NOW }
      await node.reconciliation.requeue(damage)
      expect(Object.values(await states()).toSorted()).toEqual(['damaged', 'have'])
      expect(await begin(node)).toEqual([])
      await takeAll([node])
      expect((await surplusOf(nodes)) === node).toBe(true)
      expect((await begin(node)).length).toBe(1)
    })
  })
})

describe('copies of a node that starts again', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, copiesOf, takeAll, released } = copiedNodes()

  test('reads all copies once, and again after a set-back', async () => {
    await withNodes(async nodes => {
      await configured(THREE)
      await commit(nodes[0], [record('r1')])
      await takeAll(nodes)
      const copies = await copiesOf(nodes[1])
      const comparedFrom = async (run: string | null): Promise<string | null> => {
        await db().command("UPDATE copies SET run = $1 WHERE node = 'there'", [run])
        while (await copies.compare());
        const found = await db().reading.first<{ run: string | null }>("SELECT run FROM copies WHERE node = 'there'")
        return found?.run ?? null
      }
      const own = await comparedFrom('before')
      expect(own).toMatch(/ $/)
      expect(await comparedFrom('before')).toBe('before')
      expect(await comparedFrom(null)).toBe(own)
      await db().command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('s', 'p', 'here')")
      expect(await comparedFrom('before')).toBe(`${own}s`)
    })
  })

  test('a copy that the directory lacks is wanted again', async () => {
    await withNodes(async nodes => {
      await configured(THREE)
      await commit(nodes[0], [record('r1')])
      await takeAll(nodes)
      const [, there] = nodes
      await db().command("UPDATE copies SET run = 'before'")
      const held = await db().reading.first<{ hold: string }>("SELECT hold_id AS hold FROM copies WHERE node = 'there'")
      await there.ledger.release([held?.hold ?? ''])
      for (const node of nodes) while (await (await copiesOf(node)).compare());
      expect((await rows()).map(({ node, state }) => [node, state])).toEqual([
        ['there', 'wanted'],
        ['third', 'have'],
      ])
      await takeAll(nodes)
      await released(nodes)
      expect(await countOf("copies WHERE state = 'have'")).toBe(2)
      expect(await countOf("holds WHERE state = 'void'")).toBe(0)
    })
  })
})

describe('records of a lost node', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, copiesOf, takeAll, walked, released } = copiedNodes()

  const forget = async () => {
    await db().transaction(sql => changeState(sql, 'here', { from: 'active', to: 'forgetting' }))
    await db().command('UPDATE copy_walk SET place = 0')
  }
  const promoted = async (nodes: readonly TestNode[]) => {
    for (const node of nodes) while (await (await copiesOf(node)).promote());
  }
  const holders = async (table: string) =>
    (await db().reading.all<{ node: string }>(`SELECT node FROM ${table} JOIN holds ON holds.id = hold_id`)).map(
      ({ node }) => node,
    )

  test('stay pinned behind thousands of other copies', async () => {
    await withNodes(async nodes => {
      const [here, there, third] = nodes
      await configured(TWO)
      await db().command(`
        INSERT INTO copies (multihash, codec, owner, node, state)
        SELECT int4send(i), 85, 0, name, 'have' FROM nodes, generate_series(1, 2500) AS i`)
      await commit(here, [record('r1')])
      await takeAll(nodes)
      await forget()
      await promoted([there, third])
      expect(await holders('records')).not.toContain('here')
    })
  })

  test('stay pinned on a node that has a copy', async () => {
    await withNodes(async nodes => {
      const [here, there, third] = nodes
      await configured(TWO)
      await commit(here, [record('r1'), record('r2', { accountId: 'two' })])
      await takeAll(nodes)
      const [copy] = await rows()
      await forget()
      await promoted([there, third])
      expect([await holders('records'), (await here.records.get('r1'))?.status]).toEqual([
        [copy?.node, copy?.node],
        'pinned',
      ])
      await walked(there)
      await takeAll([there, third])
      await released([there, third])
      expect((await rows()).filter(({ state }) => state === 'have').map(({ node }) => node)).toEqual(
        expect.arrayContaining(['there', 'third'].filter(node => node !== copy?.node)),
      )
      for (const id of ['r1', 'r2']) await there.records.discard(id)
      await released([there, third])
      const left = ['copies', "holds WHERE node <> 'here'", 'roots']
      expect(await Promise.all(left.map(countOf))).toEqual([0, 0, 0])
    })
  })

  test('a removed record returns from a copy after its node was lost', async () => {
    await withNodes(async nodes => {
      const [here, there, third] = nodes
      await configured(TWO)
      await commit(here, [record('r1')])
      await takeAll(nodes)
      const change = { name: 'b', accountId: 'one', action: 'delete', selection: '', total: 1, undoMs: 1, createdAt: 0 }
      const { id } = await here.bulk.add(change as Parameters<typeof here.bulk.add>[0])
      await here.bulk.remove({ id, place: '', next: null, ids: ['r1'], now: NOW, isListed: true } as never)
      await forget()
      await promoted([there, third])
      expect(await holders('removed_records')).toEqual([(await rows())[0]?.node])
      expect(await countOf("holds WHERE state = 'kept'")).toBe(2)
    })
  })

  const ONLY_TWO: CopySets = { near: { nodes: ['here', 'there'], copies: 2 } }
  const removedForNow = async ({ bulk }: TestNode) => {
    const change = { name: 'b', accountId: 'one', action: 'delete', selection: '', total: 1, undoMs: 1, createdAt: 0 }
    const { id } = await bulk.add(change as Parameters<typeof bulk.add>[0])
    await bulk.remove({ id, place: '', next: null, ids: ['r1'], now: NOW, isListed: true } as never)
  }
  const passedOver = async ({ lost }: TestNode, isFetched = false) => {
    const [node] = await lost.nodes()
    if (node === undefined) throw new Error('no node is lost')
    return await lost.takeOver({ node, after: '', homeOf: () => 0, canFetch: async () => isFetched, now: NOW })
  }

  test('stay pinned on a node that has the content for others', async () => {
    await withNodes(async ([here, there, third]) => {
      await configured(ONLY_TWO)
      await commit(there, [record('r2', { accountId: 'two' })])
      await commit(here, [record('r1')])
      await forget()
      expect(await passedOver(third)).toMatchObject({ taken: 0, left: 1 })
      await walked(there)
      await takeAll([there])
      await promoted([there])
      expect(await holders('records')).toEqual(['there', 'there'])
    })
  })

  test('want no further copies while they wait for content that nobody has', async () => {
    await withNodes(async ([here, there]) => {
      await configured(ONLY_TWO)
      await commit(here, [record('r1')])
      expect((await rows()).map(({ state }) => state)).toEqual(['wanted'])
      await forget()
      expect(await passedOver(there, true)).toMatchObject({ taken: 1, left: 0 })
      expect(await rows()).toEqual([])
    })
  })

  test('removed ones move to a node that has the content', async () => {
    await withNodes(async ([here, there]) => {
      await configured(ONLY_TWO)
      await commit(there, [record('r2', { accountId: 'two' })])
      await commit(here, [record('r1')])
      await removedForNow(here)
      await forget()
      await walked(there)
      await takeAll([there])
      await promoted([there])
      expect(await holders('removed_records')).toEqual(['there'])
    })
  })
})

describe('a record whose node lacks the content', needsPostgres, () => {
  const { db, configured, withNodes, rows, countOf, leftovers, takeAll, walked, released, ledgerOf } = copiedNodes()
  const HOMES = new Map([['near', 0]])

  /** Lets a directory be of a time before its content. */
  const forgetContent = async (node: TestNode, ids: readonly string[]) => {
    for (const id of ids) await node.unhold(id)
    await node.ledger.drop([node.ledger.find(0, DAG, 0)?.id ?? 0])
  }
  const reconciled = ({ reconciliation }: TestNode) =>
    whole(reconciliation).records({ after: '', limit: 100, homes: HOMES, now: NOW, mend: true })
  const backTo = async () => (await rows()).filter(one => one.node === 'here' && one.state === 'wanted').length

  test('stays pinned, and gets it back from a copy', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1'), record('r2', { accountId: 'two', expiresAt: 9_000 })])
      await takeAll(nodes)
      await forgetContent(here, ['r1', 'r2'])
      const { changes, findings } = await reconciled(here)
      expect([changes, findings.map(({ kind }) => kind)]).toEqual([[], ['record-lost', 'record-lost']])
      await walked(nodes[1])
      expect(await backTo()).toBe(1)
      await takeAll([here])
      await released(nodes)
      expect([(await reconciled(here)).findings, (await here.records.get('r1'))?.status]).toEqual([[], 'pinned'])
      expect(here.ledger.isSound(await here.holdOf('r2'))).toBe(true)
      for (const id of ['r1', 'r2']) await here.records.discard(id)
      await released(nodes)
      expect(await leftovers()).toEqual([0, 0, 0])
      expect(nodes.flatMap(ledgerOf)).toEqual([])
    })
  })

  test('gets it back on a node that its cluster names no longer', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      await configured({})
      await walked(here)
      await forgetContent(here, ['r1'])
      await reconciled(here)
      await db().command('UPDATE copy_walk SET place = 0')
      await walked(here)
      await takeAll([here])
      await released(nodes)
      expect(here.ledger.isSound(await here.holdOf('r1'))).toBe(true)
    })
  })

  test('is fetched if no node has a copy', async () => {
    await configured(TWO)
    await withNodes(async ([here]) => {
      await commit(here, [record('r1')])
      await forgetContent(here, ['r1'])
      expect((await reconciled(here)).changes.map(one => one.record.status)).toEqual(['pinning'])
    })
  })

  test('takes it from a copy after a set-back, and nobody offers it', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const [here] = nodes
      await commit(here, [record('r1')])
      await takeAll(nodes)
      const [copy] = await rows()
      await forgetContent(here, ['r1'])
      await db().command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('s', 'restored', 'here')")
      const setBack = { id: 's', problem: 'restored' }
      const walkedBy = async ({ offers }: TestNode, homes: ReadonlyMap<string, number>) => {
        while (!(await offers.walk({ setBack, homes, limit: 10, now: NOW })).isDone);
      }
      const keeper = nodeOf(nodes, copy?.node)
      await walkedBy(keeper, new Map())
      expect(await countOf('offers')).toBe(0)
      await walkedBy(here, HOMES)
      expect(await backTo()).toBe(1)
      await takeAll([here])
      expect(here.ledger.isSound(await here.holdOf('r1'))).toBe(true)
    })
  })

  test('gets it back from a node that has it for other records', async () => {
    await configured({ near: { nodes: ['here', 'there'], copies: 2 } })
    await withNodes(async ([here, there]) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' })])
      await forgetContent(here, ['r1'])
      expect((await reconciled(here)).changes).toEqual([])
      await takeAll([here])
      expect(here.ledger.isSound(await here.holdOf('r1'))).toBe(true)
    })
  })

  test('is fetched if every node lacks it', async () => {
    await configured({ near: { nodes: ['here', 'there'], copies: 2 } })
    await withNodes(async ([here, there]) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { accountId: 'two' })])
      await forgetContent(here, ['r1'])
      await forgetContent(there, ['r2'])
      await reconciled(here)
      // The node has asked the other one in vain.
      await db().command("UPDATE copies SET attempts = 1 WHERE node = 'here'")
      const statuses = async (node: TestNode) => (await reconciled(node)).changes.map(one => one.record.status)
      expect([await statuses(there), await statuses(here)]).toEqual([['pinning'], ['pinning']])
    })
  })
})
