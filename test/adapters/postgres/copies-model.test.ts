import { describe, expect, test } from 'vitest'
import { wantMoves } from '../../../adapters/postgres/copies/copy-sets.ts'
import type { CopySets } from '../../../src/catalogue/copies.ts'
import { commit, dagOf, NO_LIMITS, NOW, record } from '../../catalogue/content-support.ts'
import { holdsIn, rootsIn, whole } from '../../catalogue/whole-reconciliation.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { randomNumbers } from '../../support/random-numbers.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { copiedNodes, NODES, nodeOf } from './copied-nodes.ts'

const HISTORIES = Number(process.env.HOLDFAST_TEST_HISTORIES ?? 12)
const FIRST_SEED = Number(process.env.HOLDFAST_TEST_SEED ?? 1)
const STEPS = 30
const DAGS = ['a', 'b'].map(dagOf)
const CLUSTERS = ['near', 'far']
const FAR_FUTURE = NOW + 1_000_000

interface Held {
  id: string
  accountId: string
  cid: string
  clusterId: string
  node: string
  holdId: string
  state: string
}

type Fleet = ReturnType<typeof copiedNodes>

/** Three nodes, whose operators and users do anything that is allowed. A node that ends is wiped and joins anew. */
class Model {
  readonly #fleet: Fleet
  readonly #nodes: readonly TestNode[]
  readonly #pick: (below: number) => number
  readonly log: string[] = []
  #sets: CopySets = {}
  #made = 0
  readonly #removals: Array<{ id: number; name: string; ids: string[] }> = []

  constructor(fleet: Fleet, nodes: readonly TestNode[], seed: number) {
    this.#fleet = fleet
    this.#nodes = nodes
    this.#pick = randomNumbers(seed)
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#upload(),
      () => this.#upload(),
      () => this.#upload(),
      () => this.#discard(),
      () => this.#removeForNow(),
      () => this.#undoOrPurge(),
      () => this.#configure(),
      () => this.#work(),
      () => this.#work(),
      () => this.#damage(),
      () => this.#retire(),
      () => this.#forget(),
    ]
    await this.#one(steps)()
  }

  /** Does all work that is due. */
  async settle(): Promise<void> {
    for (let i = 0; i < 6; i++) {
      for (const name of NODES) if (await this.#isMember(name)) await this.#workOf(name)
      await this.#fleet.released(this.#nodes)
    }
    for (const name of NODES) {
      if (await this.#isMember(name)) await this.#reconcile(this.#nodeOf(name))
    }
    await this.#fleet.released(this.#nodes)
  }

  /** Checks that each place has what the catalogue says, and each content as many places as its clusters want. */
  async check(): Promise<void> {
    const records = await this.#records()
    for (const { id, node, holdId, state } of records) {
      expect([id, state, this.#nodeOf(node).ledger.isSound(holdId)]).toEqual([id, 'used', true])
    }
    const copies = await this.#fleet
      .db()
      .reading.all<{ node: string; state: string; holdId: string | null; key: string }>(
        `SELECT node, state, hold_id AS "holdId", encode(multihash, 'hex') AS key FROM copies`,
      )
    const live = new Set(records.map(({ cid }) => cid))
    for (const { node, state, holdId, key } of copies) {
      // Nothing is freed while only an undo may need the content.
      expect([live.has(key) ? state : 'have', holdId !== null && this.#nodeOf(node).ledger.isSound(holdId)]).toEqual([
        'have',
        true,
      ])
    }
    for (const dag of DAGS) {
      const key = Buffer.from(dag.multihash).toString('hex')
      const of = records.filter(({ cid }) => cid === key)
      const places = new Set([...of, ...copies.filter(one => one.key === key)].map(({ node }) => node))
      for (const [cluster, { nodes, copies: wanted }] of Object.entries(this.#sets)) {
        if (!of.some(({ clusterId }) => clusterId === cluster)) continue
        const kept = nodes.filter(node => places.has(node)).length
        expect([key.slice(0, 8), cluster, kept]).toEqual([
          key.slice(0, 8),
          cluster,
          Math.max(kept, Math.min(wanted, nodes.length)),
        ])
      }
    }
    for (const name of NODES) {
      expect([name, await this.#isMember(name)]).toEqual([name, true])
      const { ledger } = this.#nodeOf(name)
      const holds = await this.#fleet
        .db()
        .reading.all<{ id: string }>('SELECT id FROM holds WHERE node = $1 ORDER BY id', [name])
      expect([name, holdsIn(ledger).toSorted()]).toEqual([name, holds.map(({ id }) => id).toSorted()])
      expect(rootsIn(ledger).length).toBe(
        await this.#fleet.countOf(`roots WHERE backend_id / 65536 = ${NODES.indexOf(name)}`),
      )
    }
  }

  /** Removes everything. */
  async empty(): Promise<void> {
    for (const { id } of this.#removals.splice(0)) await this.#purge(id)
    for (const { id } of await this.#records()) await this.#nodeOf('here').records.discard(id)
    await this.settle()
    expect(await this.#fleet.leftovers()).toEqual([0, 0, 0])
    expect(this.#nodes.map(({ ledger }) => rootsIn(ledger).length + holdsIn(ledger).length)).toEqual([0, 0, 0])
  }

  async #upload(): Promise<void> {
    const name = this.#one(await this.#active())
    const [dag, clusterId, accountId] = [this.#one(DAGS), this.#one(CLUSTERS), this.#one(['one', 'two'])]
    const id = `r${this.#made++}`
    this.log.push(`upload ${id} to ${name} for ${clusterId}`)
    const expiresAt = this.#pick(2) === 0 ? null : FAR_FUTURE + this.#pick(9)
    const cid = Buffer.from(dag.multihash).toString('hex')
    await commit(this.#nodeOf(name), [record(id, { dag, clusterId, accountId, expiresAt, cid })])
  }

  async #discard(): Promise<void> {
    const found = await this.#records()
    if (found.length === 0) return
    const { id } = this.#one(found)
    this.log.push(`discard ${id}`)
    await this.#nodeOf(this.#one(await this.#active())).records.discard(id)
  }

  async #removeForNow(): Promise<void> {
    const found = (await this.#records()).filter(({ accountId }) => accountId === 'one')
    if (found.length === 0) return
    const ids = [this.#one(found).id]
    const { bulk } = this.#nodeOf('here')
    const name = `b${this.#made++}`
    this.log.push(`remove ${ids} for now`)
    const job = {
      name,
      accountId: 'one',
      action: 'delete',
      selection: JSON.stringify(ids),
      total: 1,
      undoMs: 1,
      createdAt: NOW,
    }
    const { id } = await bulk.add(job as Parameters<typeof bulk.add>[0])
    await bulk.remove({ id, place: '', next: null, ids, now: NOW, isListed: true })
    this.#removals.push({ id, name, ids })
  }

  async #undoOrPurge(): Promise<void> {
    const removal = this.#removals.shift()
    if (removal === undefined) return
    const { id, name, ids } = removal
    if (this.#pick(2) === 0) return this.#purge(id)
    this.log.push(`undo ${ids}`)
    const { bulk } = this.#nodeOf('here')
    await bulk.undo({ accountId: 'one', name, limits: NO_LIMITS, now: NOW })
    await bulk.restore({ id, place: '', next: null, ids, now: NOW, limits: NO_LIMITS })
  }

  async #purge(id: number): Promise<void> {
    this.log.push(`purge ${id}`)
    while (await this.#nodeOf('here').bulk.purge(id, NOW + 10));
  }

  async #configure(): Promise<void> {
    const active = await this.#active()
    const sets: Record<string, CopySets[string]> = {}
    for (const cluster of CLUSTERS) {
      const nodes = active.filter(() => this.#pick(4) > 0)
      const copies = 1 + this.#pick(3)
      if (copies > 1 && nodes.length > 0) sets[cluster] = { nodes, copies }
    }
    await this.#set(sets)
  }

  async #set(sets: CopySets): Promise<void> {
    this.log.push(`configure ${JSON.stringify(sets)}`)
    this.#sets = sets
    await this.#fleet.configured(sets)
  }

  async #work(): Promise<void> {
    const name = this.#one(NODES)
    if (!(await this.#isMember(name))) return
    this.log.push(`${name} works`)
    await this.#workOf(name)
  }

  async #workOf(name: string): Promise<void> {
    const node = this.#nodeOf(name)
    for (const ending of await node.lost.nodes()) {
      if (ending.isRetiring) {
        await node.lost.moveWaiting({ node: ending, homeOf: () => 0, now: NOW })
        if (await node.lost.finishRetirement(ending)) await this.#joinAnew(ending.name)
      } else if (await node.lost.fence(ending)) {
        const step = { node: ending, after: '', homeOf: () => 0, canFetch: async () => false, now: NOW }
        const { taken, left } = await node.lost.takeOver(step)
        if (taken === 0 && left === 0 && (await node.lost.finish(ending))) await this.#joinAnew(ending.name)
      }
    }
    if ((await this.#fleet.countOf('copy_walk')) === 0) return
    const copies = await this.#fleet.copiesOf(node)
    while (await copies.compare());
    while (await copies.promote());
    while (await copies.walk());
    if ((await this.#fleet.countOf('copy_walk')) === 0) return
    await this.#fleet.takeAll([node])
    for (const copy of await copies.freed.begin(FAR_FUTURE, 10, FAR_FUTURE)) {
      const sound = copy.places.filter(place => this.#nodeOf(place.node).ledger.isSound(place.hold))
      this.log.push(`${name} frees by ${sound.map(place => place.node)} of ${copy.places.map(place => place.node)}`)
      await copies.freed.end(copy, sound, FAR_FUTURE)
    }
    await node.records.finishRemovals()
  }

  /** A directory lacks a content of which another node has a sound place. */
  async #damage(): Promise<void> {
    const [name, dag] = [this.#one(await this.#active()), this.#one(DAGS)]
    if ((await this.#fleet.countOf('copy_walk')) === 0 || !(await this.#isElsewhere(name, dag))) return
    // Only after an undo does a node look for what a removed record lacks.
    if (await this.#hasRemoved(name, [dag])) return
    this.log.push(`${name} lacks ${Buffer.from(dag.multihash.subarray(2, 3))}`)
    const node = this.#nodeOf(name)
    await this.#drop(node, dag)
    await this.#reconcile(node)
    // Another failure before the repair may lose what had two places.
    await this.#fleet.takeAll([node])
    await this.#fleet.db().command('UPDATE copies SET run = NULL WHERE node = $1', [name])
    while (await (await this.#fleet.copiesOf(node)).compare());
  }

  async #retire(): Promise<void> {
    const active = await this.#active()
    if (active.length < NODES.length) return
    const name = this.#one(active)
    const to = this.#one(active.filter(other => other !== name))
    await this.#without(name)
    this.log.push(`retire ${name} to ${to}`)
    await this.#fleet
      .db()
      .command("UPDATE nodes SET state = 'retiring', state_at = now(), retire_to = $2 WHERE name = $1", [name, to])
    await wantMoves(this.#fleet.db())
  }

  /** A node is lost. All of its content is on another node, too. */
  async #forget(): Promise<void> {
    const active = await this.#active()
    if (active.length < NODES.length) return
    const name = this.#one(active)
    if ((await this.#fleet.countOf('copy_walk')) === 0) return
    for (const dag of DAGS) if (!(await this.#isElsewhere(name, dag))) return
    if (await this.#hasRemoved(name, DAGS)) return
    await this.#without(name)
    this.log.push(`forget ${name}`)
    const others = NODES.filter(other => other !== name)
    await this.#fleet
      .db()
      .command("UPDATE nodes SET state = 'forgetting', state_at = now() - interval '1 s' WHERE name = $1", [name])
    await this.#fleet.db().command('UPDATE copy_walk SET place = 0')
    // A user who removes what the other places have meanwhile loses it.
    for (let i = 0; i < 2; i++) for (const other of others) await this.#workOf(other)
  }

  async #without(name: string): Promise<void> {
    const left = Object.entries(this.#sets).map(([cluster, { nodes, copies }]) => {
      return [cluster, { nodes: nodes.filter(node => node !== name), copies }] as const
    })
    await this.#set(Object.fromEntries(left.filter(([, { nodes }]) => nodes.length > 0)))
  }

  async #joinAnew(name: string): Promise<void> {
    this.log.push(`${name} has ended`)
    const node = this.#nodeOf(name)
    for (const dag of DAGS) await this.#drop(node, dag)
    for (const id of holdsIn(node.ledger)) await node.ledger.release([id])
    await this.#fleet.db().command("UPDATE nodes SET state = 'active', retire_to = NULL WHERE name = $1", [name])
    await this.#fleet.configured(this.#sets)
  }

  async #drop({ ledger }: TestNode, dag: (typeof DAGS)[number]): Promise<void> {
    const root = ledger.find(0, dag, 0)
    if (root === undefined) return
    await ledger.release(holdsIn(ledger).filter(id => ledger.rootOf(id) === root.id))
    if (ledger.find(0, dag, 0) !== undefined) await ledger.drop([root.id])
  }

  async #reconcile({ reconciliation }: TestNode): Promise<void> {
    const step = { after: '', limit: 100, homes: new Map([['near', 0]]), now: NOW, mend: true }
    const { changes } = await whole(reconciliation).records(step)
    expect(changes).toEqual([])
  }

  /** Returns whether another node has a sound place of a content, or nobody needs it. */
  async #isElsewhere(name: string, dag: (typeof DAGS)[number]): Promise<boolean> {
    const places = await this.#fleet.db().reading.all<{ node: string; holdId: string }>(
      `SELECT node, hold_id AS "holdId" FROM copies WHERE multihash = $1 AND hold_id IS NOT NULL AND state <> 'damaged'
       UNION SELECT node, hold_id FROM records JOIN holds ON holds.id = hold_id WHERE multihash = $1`,
      [dag.multihash],
    )
    const active = new Set(await this.#active())
    const others = places.filter(({ node, holdId }) => {
      return node !== name && active.has(node) && this.#nodeOf(node).ledger.isSound(holdId)
    })
    return others.length > 0 || this.#nodeOf(name).ledger.find(0, dag, 0) === undefined
  }

  /** Returns whether a node keeps some of these contents for an undo. */
  async #hasRemoved(name: string, dags: typeof DAGS): Promise<boolean> {
    const text = `SELECT 1 FROM removed_records JOIN holds ON holds.id = hold_id
      WHERE node = $1 AND multihash = ANY($2) LIMIT 1`
    const found = await this.#fleet.db().reading.first(text, [name, dags.map(({ multihash }) => multihash)])
    return found !== undefined
  }

  #nodeOf(name: string): TestNode {
    return nodeOf(this.#nodes, name)
  }

  #one<One>(of: readonly One[]): One {
    return of[this.#pick(of.length)] as One
  }

  async #active(): Promise<string[]> {
    const found = await this.#fleet
      .db()
      .reading.all<{ name: string }>("SELECT name FROM nodes WHERE state = 'active' ORDER BY name")
    return found.map(({ name }) => name)
  }

  async #isMember(name: string): Promise<boolean> {
    const text = "SELECT 1 FROM nodes WHERE name = $1 AND state IN ('active', 'retiring')"
    return (await this.#fleet.db().reading.first(text, [name])) !== undefined
  }

  #records(): Promise<Held[]> {
    return this.#fleet.db().reading.all<Held>(
      `SELECT records.id, account_id AS "accountId", cluster_id AS "clusterId", cid, node, hold_id AS "holdId", state
       FROM records LEFT JOIN holds ON holds.id = hold_id ORDER BY records.id`,
    )
  }
}

describe('random histories of copies', needsPostgres, () => {
  const fleet = copiedNodes()
  const seeds = Array.from({ length: HISTORIES }, (_, i) => FIRST_SEED + i)
  test.each(seeds)('leave what records need on every ledger, by seed %i', { timeout: 60_000 }, async seed => {
    await fleet.configured({})
    await fleet.withNodes(async nodes => {
      const model = new Model(fleet, nodes, seed)
      try {
        for (let i = 0; i < STEPS; i++) await model.step()
        await model.settle()
        await model.check()
        await model.empty()
      } catch (error) {
        throw new Error(`seed ${seed}:\n${model.log.join('\n')}`, { cause: error })
      }
    })
  })
})
