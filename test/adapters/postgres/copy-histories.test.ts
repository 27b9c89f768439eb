import { describe, expect, test } from 'vitest'
import { changeState } from '../../../adapters/postgres/nodes/node-states.ts'
import type { CopySets } from '../../../src/catalogue/copies.ts'
import { commit, NOW, record } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { copiedNodes, NODES, nodeOf, TWO } from './copied-nodes.ts'

const THREE: CopySets = { near: { nodes: NODES, copies: 3 } }

describe('histories that lose content in easy designs', needsPostgres, () => {
  const { db, configured, withNodes, rows, copiesOf, takeAll, walked, released, ledgerOf } = copiedNodes()

  /** Commits a record on the first node. Returns the name of the node with the copy, and that node. */
  const copied = async (nodes: [TestNode, TestNode, TestNode]) => {
    await commit(nodes[0], [record('r1')])
    await takeAll(nodes)
    const [{ node } = { node: '' }] = await rows()
    return { node, keeper: nodeOf(nodes, node) }
  }
  const forget = async (name: string) => {
    await db().transaction(sql => changeState(sql, name, { from: 'active', to: 'forgetting' }))
    await db().command('UPDATE copy_walk SET place = 0')
  }
  const promoted = async (...nodes: TestNode[]) => {
    for (const node of nodes) while (await (await copiesOf(node)).promote());
  }
  const holders = async () =>
    (await db().reading.all<{ node: string }>('SELECT node FROM records JOIN holds ON holds.id = hold_id')).map(
      ({ node }) => node,
    )

  test('a node that has taken records over dies before the next copy', async () => {
    await configured(THREE)
    await withNodes(async ([here, there, third]) => {
      await commit(here, [record('r1'), record('r2', { accountId: 'two' })])
      await takeAll([there, third])
      await forget('here')
      await promoted(there, third)
      await walked(there)
      await released([there, third])
      expect(await holders()).toEqual(['there', 'there'])
      expect((await rows()).filter(({ node }) => node === 'third').map(({ state }) => state)).toEqual(['have'])
      await forget('there')
      await promoted(third)
      await walked(third)
      await released([third])
      expect([await holders(), ledgerOf(third)]).toEqual([['third', 'third'], [{ until: null }]])
      expect((await third.records.get('r1'))?.status).toBe('pinned')
    })
  })

  test('after a set-back the only copy is of a cluster without configuration', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const { node, keeper } = await copied(nodes)
      const copies = await copiesOf(keeper)
      // No configuration has the cluster any more, and the node of the record was wiped.
      await configured({})
      await walked(keeper)
      await db().command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('of yesterday', 'restored', 'here')")
      const free = async (): Promise<boolean[]> => {
        const going = await copies.freed.begin(NOW, 10, 0)
        return Promise.all(going.map(copy => copies.freed.end(copy, [], 0)))
      }
      expect(await free()).toEqual([])
      await db().command("UPDATE nodes SET offered = 'of yesterday' WHERE name <> 'here'")
      await forget('here')
      await promoted(keeper)
      await walked(keeper)
      while (await copies.compare());
      expect(await free()).not.toContain(true)
      await released([keeper])
      expect([await holders(), ledgerOf(keeper)]).toEqual([[node], [{ until: null }]])
      expect((await keeper.records.get('r1'))?.status).toBe('pinned')
    })
  })

  test('a node of 0.3.0 loses no record that has a copy', async () => {
    await configured(TWO)
    await withNodes(async nodes => {
      const { node, keeper } = await copied(nodes)
      await forget('here')
      // Statements with which it takes over, or gives up, records of a lost node.
      const lose = () => db().command("UPDATE records SET hold_id = NULL, lost_with = 'here'", [])
      await expect(lose()).rejects.toThrow()
      await promoted(keeper)
      expect([await holders(), (await keeper.records.get('r1'))?.status]).toEqual([[node], 'pinned'])
      // It leaves the copies of a node that it has forgotten.
      await db().command(
        "INSERT INTO copies (multihash, codec, owner, node, state) SELECT multihash, codec, owner, 'here', 'have' FROM records",
        [],
      )
      await db().transaction(sql => changeState(sql, 'here', { from: 'forgetting', to: 'forgotten' }))
      await db().command('UPDATE copy_walk SET place = 0', [])
      await walked(keeper)
      expect((await rows()).map(one => one.node)).not.toContain('here')
    })
  })
})
