import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../../src/clusters/cluster-backend.ts'
import { Semaphore } from '../../../src/concurrency/capacity/semaphore.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { PlacementAttempt } from '../../../src/pins/placement/placement-attempt.ts'
import { AWAY, DAG, NOW, record } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { reconcile, remove, upload } from './content-protocols.ts'
import type { Nodes, Protocol } from './faults.ts'

/** Longer than a lost request may take to arrive. */
const LONG_MS = 3_600_000
const away = (id: string, accountId = 'one') => record(id, { clusterId: 'away', accountId })

/** An external cluster that obeys at once. */
class ExternalCluster implements ClusterBackend {
  readonly reader = null
  isKept = false

  async pin(): Promise<void> {
    this.isKept = true
  }

  async unpin(...[, , , mayUnpin]: Parameters<ClusterBackend['unpin']>): Promise<void> {
    if (mayUnpin === undefined || (await mayUnpin())) this.isKept = false
  }

  async status() {
    return { state: this.isKept ? ('pinned' as const) : ('unpinned' as const), allocations: [] }
  }
}

/** Runs the placements of an external cluster. */
class PlacementWorker {
  readonly cluster = new ExternalCluster()
  readonly #clock = new ManualClock(NOW)

  /** Runs all jobs that are due. */
  async work({ placements }: TestNode): Promise<void> {
    const query = { backendId: AWAY, now: this.#clock.now(), after: '', accounts: 9, each: 9 }
    for (const job of (await placements.due(query)).jobs) {
      const row = await placements.begin(job)
      if (row === undefined) continue
      const parts = {
        ...{
          backends: new Map([[AWAY, this.cluster]]),
          fetchingBackends: new Map(),
          sourceOf: () => NOWHERE,
          placements,
        },
        sizeOf: () => 0,
        ...{ clock: this.#clock, onChanges: () => undefined },
      }
      try {
        await new PlacementAttempt(row, parts, new Semaphore(1)).run(row)
      } catch (error) {
        await placements.retry(row, { at: this.#clock.now(), reason: 'failed' })
        throw error
      }
    }
  }

  /** Runs jobs until none is left, then checks that cluster, ledger and records agree. */
  async settle(nodes: Nodes): Promise<void> {
    const { here, database } = nodes
    const row = await here.placements.find(AWAY, DAG)
    // In production, reconciliation repeats this check.
    if (row?.isPlaced === true && !this.cluster.isKept) await here.placements.lost(row, { now: NOW, reason: 'gone' })
    const mayBeKept = row?.isPlaced === true || (row?.isWanted === true && this.cluster.isKept)
    for (const at of this.#notedAt(nodes)) assert.ok(at === null || mayBeKept, 'the ledger must not mark it as placed')
    for (let rounds = 0; (await here.placements.nextDue(AWAY)) !== null; rounds++) {
      assert.ok(rounds < 5, 'the jobs must end')
      this.#clock.advance(LONG_MS)
      await this.work(here)
    }
    const records = await database.reading.all<{ status: string }>('SELECT DISTINCT status FROM records')
    const isWanted = records.length > 0
    assert.deepEqual(records, isWanted ? [{ status: 'pinned' }] : [])
    assert.equal(this.cluster.isKept, isWanted, 'the cluster must have what the records need')
    const placed = this.#notedAt(nodes).map(at => at !== null)
    assert.deepEqual(placed, isWanted ? [true] : [], 'the ledger must mark it as placed')
  }

  /** Returns the times at which the ledger marked its roots as placed. */
  #notedAt({ here }: Nodes): Array<number | null> {
    const noted = "SELECT placed_at AS at FROM roots WHERE state = 'complete'"
    return here.db
      .prepare<[], { at: number | null }>(noted)
      .all()
      .map(({ at }) => at)
  }
}

const NOWHERE = {
  read: (cid: CID) => Promise.reject(new HoldfastError('NOT_FOUND', `block ${cid} is missing`)),
}

/** Gives each run of a protocol its own cluster. */
function withWorker(
  protocol: Omit<Protocol, 'before' | 'run' | 'after'> & {
    before(nodes: Nodes, worker: PlacementWorker): Promise<void>
    run(node: TestNode, worker: PlacementWorker): Promise<void>
  },
): Protocol {
  let worker = new PlacementWorker()
  return {
    ...protocol,
    async before(nodes) {
      worker = new PlacementWorker()
      await protocol.before(nodes, worker)
    },
    run: node => protocol.run(node, worker),
    after: nodes => worker.settle(nodes),
  }
}

const again = async ({ here }: Nodes): Promise<void> => {
  await upload(here, [away('again', 'two')], { backendId: AWAY })
}

const placementProtocols: readonly Protocol[] = [
  withWorker({
    name: 'an upload to an external cluster, and its placement',
    before: async () => undefined,
    async run(node, worker) {
      await upload(node, [away('mine')], { backendId: AWAY })
      await worker.work(node)
    },
    meanwhile: [reconcile],
  }),
  withWorker({
    name: 'a placement, while the content is removed and uploaded again',
    before: async ({ here }) => void (await upload(here, [away('mine')], { backendId: AWAY })),
    run: (node, worker) => worker.work(node),
    meanwhile: [
      async nodes => {
        await remove(nodes.there)
        await again(nodes)
      },
    ],
  }),
  withWorker({
    name: 'an unpin, while the content is uploaded again',
    async before({ here }, worker) {
      await upload(here, [away('mine')], { backendId: AWAY })
      await worker.work(here)
      await remove(here)
    },
    run: (node, worker) => worker.work(node),
    meanwhile: [again],
  }),
  withWorker({
    name: 'a lost placement, while records are added and removed',
    async before({ here }, worker) {
      await upload(here, [away('mine')], { backendId: AWAY })
      await worker.work(here)
      worker.cluster.isKept = false
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

// feature: webhooks
const outcome = { status: 200, error: null, at: NOW }

/** Delivers everything due. Returns how many deliveries were due, and how many of them were locked. */
async function deliverDue({ webhooks }: TestNode): Promise<{ due: number; locked: number }> {
  const { jobs } = await webhooks.due({ now: NOW, after: '', accounts: 9, each: 9 })
  let locked = 0
  for (const { id } of jobs) {
    if ((await webhooks.begin(id, NOW)) === undefined) locked++
    else await webhooks.end(id, { ...outcome, isDelivered: true })
  }
  return { due: jobs.length, locked }
}
// end

export const jobProtocols: readonly Protocol[] = [
  ...placementProtocols,
  // feature: webhooks
  {
    name: 'a webhook delivery, while another node looks for due ones',
    async before({ here }) {
      const webhook = { id: 'w', accountId: 'one', keyId: null, url: 'https://w', secret: Buffer.of(1), createdAt: NOW }
      await here.webhooks.insert(webhook, 1)
      await upload(here, [record('mine')])
    },
    run: async node => void (await deliverDue(node)),
    meanwhile: [({ there }) => deliverDue(there)],
    async after({ here, database }) {
      await database.command("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
      // For a moment, the database may not know that a connection was cut, and keep its lock.
      while ((await deliverDue(here)).locked > 0) await sleep(10)
      assert.equal((await deliverDue(here)).due, 0, 'it must be delivered once')
      const [webhook] = await here.webhooks.list('one')
      const { rows } = await here.webhooks.deliveries('w', { after: null, limit: 9 })
      assert.deepEqual([webhook?.waiting, rows.map(({ isDelivered }) => isDelivered)], [0, [true]])
    },
  },
  // end
]
