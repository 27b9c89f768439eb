import { beforeEach } from 'vitest'
import { prepareCopies, wantSets } from '../../../adapters/postgres/copies/copy-sets.ts'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { FRAMES_RUN } from '../../../adapters/postgres/nodes/node-states.ts'
import type { Copies, CopySets } from '../../../src/catalogue/copies.ts'
import { NOW, SIZES } from '../../catalogue/content-support.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

/** The names and ids of three nodes. The run of each is known to the copies of the test's nodes. */
export const NODES = ['here', 'there', 'third']
export const TWO: CopySets = { near: { nodes: NODES, copies: 2 } }

/** Returns the node with a name. */
export function nodeOf(nodes: readonly TestNode[], name = ''): TestNode {
  const node = nodes[NODES.indexOf(name)]
  if (node === undefined) throw new Error(`no node is named ${name}`)
  return node
}

/** Opens a database of three nodes for the tests of a suite. */
export function copiedNodes() {
  let database: Postgres
  let address = ''
  emptiedDatabase((opened, url) => {
    database = opened
    address = url
  })
  beforeEach(() => prepareCopies(address))

  /** Starts the nodes with one configuration, or each with its own. */
  const configured = async (...all: Array<CopySets | null>) => {
    for (const [number, name] of NODES.entries()) {
      const sets = all[number] === undefined ? all[0] : all[number]
      await database.command(
        `INSERT INTO nodes (name, number, id, url, run, copy_sets) VALUES ($1, $2, $1, $1, $3, $4)
         ON CONFLICT (name) DO UPDATE SET run = excluded.run, copy_sets = excluded.copy_sets`,
        [name, number, `${FRAMES_RUN}${name}`, sets === null ? null : JSON.stringify(sets)],
      )
    }
    await database.transaction(wantSets)
  }
  const withNodes = (run: (nodes: [TestNode, TestNode, TestNode]) => Promise<void>) =>
    withNode(database, 'here', here =>
      withNode(database, 'there', there => withNode(database, 'third', third => run([here, there, third]), 2), 1),
    )
  const rows = () =>
    database.reading.all<{ node: string; state: string; ends: number | null }>(
      'SELECT node, state, ends FROM copies ORDER BY multihash, codec, owner, node',
    )
  const countOf = async (table: string): Promise<number> =>
    (await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))?.count ?? 0
  const copiesOf = async ({ copies }: TestNode): Promise<Copies> => {
    const found = await copies()
    if (found === null) throw new Error('the node has no copies')
    return found
  }
  const dueOf = (copies: Copies, isFresh = true) => copies.due({ isFresh, now: NOW, limit: 100 })
  /** Makes all copies that nodes want. */
  const takeAll = async (nodes: readonly TestNode[]) => {
    for (const node of nodes) {
      const copies = await copiesOf(node)
      for (const due of [...(await dueOf(copies)), ...(await dueOf(copies, false))]) {
        const { codec, multihash, owner } = due
        const dag = { ...SIZES, codec, multihash, owner }
        await copies.take(due, { backendId: 0, stagedRootId: await node.stage(0), dag })
      }
    }
  }
  const walked = async (node: TestNode) => {
    const copies = await copiesOf(node)
    while (await copies.walk());
  }
  const released = async (nodes: readonly TestNode[]) => {
    for (const { records } of nodes) await records.finishRemovals()
  }
  /** Counts what the database has of content. */
  const leftovers = () => Promise.all(['copies', 'holds', 'roots'].map(countOf))
  /** The ends of the roots that the ledger keeps. */
  const ledgerOf = ({ db }: TestNode) =>
    db
      .prepare<[], { until: number | null }>(
        "SELECT live_until AS until FROM roots WHERE state = 'complete' ORDER BY id",
      )
      .all()

  return {
    db: () => database,
    configured,
    withNodes,
    rows,
    countOf,
    leftovers,
    copiesOf,
    dueOf,
    takeAll,
    walked,
    released,
    ledgerOf,
  }
}
