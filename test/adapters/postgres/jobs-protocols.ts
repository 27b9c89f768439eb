import assert from 'node:assert/strict'
import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../../src/clusters/cluster-backend.ts'
import { FairGate } from '../../../src/concurrency/fair-gate.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { PlacementAttempt } from '../../../src/pins/placement/placement-attempt.ts'
import { AWAY, DAG, NOW, record } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { reconcile, remove, upload } from './content-protocols.ts'
import type { Nodes, Protocol } from './mishaps.ts'

/** Longer than anything that was sent may take to arrive. */
const LONG_MS = 3_600_000
const away = (id: string, accountId = 'one') => record(id, { clusterId: 'away', accountId })

/** A cluster elsewhere, which does what it is asked at once. */
class Elsewhere implements ClusterBackend {
  readonly reader = null
  isKept = false

  async pin(): Promise<void> {
    this.isKept = true
  }

  async unpin(): Promise<void> {
    this.isKept = false
  }

  async status() {
    return { state: this.isKept ? ('pinned' as const) : ('unpinned' as const), allocations: [] }
  }
}

/** What tells a cluster elsewhere what to keep. */
class Telling {
  readonly elsewhere = new Elsewhere()
  readonly #clock = new ManualClock(NOW)

  /** All that is due now. */
  async work({ placements }: TestNode): Promise<void> {
    const query = { backendId: AWAY, now: this.#clock.now(), after: '', accounts: 9, each: 9 }
    for (const job of (await placements.due(query)).jobs) {
      const row = await placements.begin(job)
      if (row === undefined) continue
      const parts = {
        ...{ backends: new Map([[AWAY, this.elsewhere]]), keepers: new Map(), sourceOf: () => NOWHERE, placements },
        ...{ clock: this.#clock, onChanges: () => undefined },
      }
      try {
        await new PlacementAttempt(row, parts, new FairGate(1)).run(row)
      } catch (error) {
        await placements.retry(row, { at: this.#clock.now(), reason: 'failed' })
        throw error
      }
    }
  }

  /** Until nothing is to be told any more; what is kept there is then what is needed, and known to be. */
  async settle(nodes: Nodes): Promise<void> {
    const { here, database } = nodes
    const row = await here.placements.find(AWAY, DAG)
    // A reconciliation looks for what is lost, again and again.
    if (row?.isPlaced === true && !this.elsewhere.isKept) await here.placements.lost(row, { now: NOW, reason: 'gone' })
    const mayBeKept = row?.isPlaced === true || (row?.isWanted === true && this.elsewhere.isKept)
    for (const at of this.#notedAt(nodes)) assert.ok(at === null || mayBeKept, 'it is taken to be kept there')
    for (let rounds = 0; (await here.placements.nextDue(AWAY)) !== null; rounds++) {
      assert.ok(rounds < 5, 'it is told again and again')
      this.#clock.advance(LONG_MS)
      await this.work(here)
    }
    const records = await database.reading.all<{ status: string }>('SELECT DISTINCT status FROM records')
    const isWanted = records.length > 0
    assert.deepEqual(records, isWanted ? [{ status: 'pinned' }] : [])
    assert.equal(this.elsewhere.isKept, isWanted, 'it keeps something else than is wanted')
    const placed = this.#notedAt(nodes).map(at => at !== null)
    assert.deepEqual(placed, isWanted ? [true] : [], 'the ledger does not know that it is kept there')
  }

  /** Since when the ledger takes it to be kept there. */
  #notedAt({ here }: Nodes): Array<number | null> {
    const noted = "SELECT placed_at AS at FROM roots WHERE state = 'complete'"
    return here.db
      .prepare<[], { at: number | null }>(noted)
      .all()
      .map(({ at }) => at)
  }
}

const NOWHERE = {
  read: (cid: CID) => Promise.reject(new HoldfastError('NOT_FOUND', `block ${cid} is not here`)),
}

/** With a cluster of its own for each time. */
function telling(
  protocol: Omit<Protocol, 'before' | 'run' | 'after'> & {
    before(nodes: Nodes, telling: Telling): Promise<void>
    run(node: TestNode, telling: Telling): Promise<void>
  },
): Protocol {
  let told = new Telling()
  return {
    ...protocol,
    async before(nodes) {
      told = new Telling()
      await protocol.before(nodes, told)
    },
    run: node => protocol.run(node, told),
    after: nodes => told.settle(nodes),
  }
}

const again = async ({ here }: Nodes): Promise<void> => {
  await upload(here, [away('again', 'two')], { backendId: AWAY })
}

const placementProtocols: readonly Protocol[] = [
  telling({
    name: 'an upload to a cluster elsewhere, which is told of it',
    before: async () => undefined,
    async run(node, told) {
      await upload(node, [away('mine')], { backendId: AWAY })
      await told.work(node)
    },
    meanwhile: [reconcile],
  }),
  telling({
    name: 'a cluster elsewhere that is told to keep content, while that is removed and uploaded again',
    before: async ({ here }) => void (await upload(here, [away('mine')], { backendId: AWAY })),
    run: (node, told) => told.work(node),
    meanwhile: [
      async nodes => {
        await remove(nodes.there)
        await again(nodes)
      },
    ],
  }),
  telling({
    name: 'a cluster elsewhere that is told to let go, while the content is uploaded again',
    async before({ here }, told) {
      await upload(here, [away('mine')], { backendId: AWAY })
      await told.work(here)
      await remove(here)
    },
    run: (node, told) => told.work(node),
    meanwhile: [again],
  }),
  telling({
    name: 'a cluster elsewhere that has lost content, while another record comes and one goes',
    async before({ here }, told) {
      await upload(here, [away('mine')], { backendId: AWAY })
      await told.work(here)
      told.elsewhere.isKept = false
    },
    async run({ placements }) {
      const row = await placements.find(AWAY, DAG)
      if (row !== undefined) await placements.lost(row, { now: NOW, reason: 'gone' })
    },
    meanwhile: [
      async nodes => {
        await again(nodes)
        await remove(nodes.there)
      },
    ],
  }),
]

const outcome = { status: 200, error: null, at: NOW }

/** Delivers what is due. Returns how much that was. */
async function deliverDue({ webhooks }: TestNode): Promise<number> {
  const { jobs } = await webhooks.due({ now: NOW, after: '', accounts: 9, each: 9 })
  for (const { id } of jobs) {
    if ((await webhooks.begin(id, NOW)) !== undefined) await webhooks.end(id, { ...outcome, isDelivered: true })
  }
  return jobs.length
}

export const jobProtocols: readonly Protocol[] = [
  ...placementProtocols,
  {
    name: 'a webhook that is told of a record, while another node looks for what is due',
    async before({ here }) {
      const webhook = { id: 'w', accountId: 'one', keyId: null, url: 'https://w', secret: Buffer.of(1), createdAt: NOW }
      await here.webhooks.insert(webhook, 1)
      await upload(here, [record('mine')])
    },
    run: async node => void (await deliverDue(node)),
    meanwhile: [({ there }) => deliverDue(there)],
    async after({ here, database }) {
      await database.command("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
      await deliverDue(here)
      assert.equal(await deliverDue(here), 0, 'it is delivered again and again')
      const [webhook] = await here.webhooks.list('one')
      const { rows } = await here.webhooks.deliveries('w', { after: null, limit: 9 })
      assert.deepEqual([webhook?.waiting, rows.map(({ isDelivered }) => isDelivered)], [0, [true]])
    },
  },
]
