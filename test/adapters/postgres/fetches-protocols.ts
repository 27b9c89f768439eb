import assert from 'node:assert/strict'
import { DAG, NO_LIMITS, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import { reconcile, remove } from './content-protocols.ts'
import type { Nodes, Protocol } from './faults.ts'

const LIMITS = new Map(['one', 'two'].map(id => [id, { ...NO_LIMITS, maxStorageBytes: SIZES.charge }]))
const mine = (id = 'mine') => record(id, { name: 'mine', status: 'queued' })

const request = (node: TestNode, made = mine()) =>
  node.fetches.request({ record: made, owner: 0, backendId: 0, origins: [], limits: NO_LIMITS, now: NOW })

/** Runs one attempt as the scheduler does. */
async function attempt({ fetches }: TestNode, id: number): Promise<void> {
  const begun = await fetches.start(id, NOW)
  if (begun === undefined) return
  if (!begun.fetch.isWhole) await fetches.complete(id, { ...DAG, ...SIZES })
  while (!(await fetches.deliver(id, LIMITS, NOW)).isDone) {}
}

/** Continues all fetches as the scheduler does after a restart. */
async function attemptAll({ here, database }: Nodes): Promise<void> {
  for (const { id } of await database.reading.all<{ id: number }>('SELECT id FROM fetches')) {
    await here.fetches.dropOrRepeat(id, NOW)
    await attempt(here, id)
  }
}

async function fetchIdOf({ here }: Nodes): Promise<number> {
  return (await here.fetches.find(0, DAG, 0))?.id ?? 0
}

async function areFetched(nodes: Nodes, ids: readonly string[]): Promise<void> {
  await attemptAll(nodes)
  for (const id of ids) assert.equal((await nodes.here.records.get(id))?.status, 'pinned', id)
  assert.equal(await fetchIdOf(nodes), 0, 'the fetch is left')
}

export const fetchProtocols: readonly Protocol[] = [
  {
    name: 'a pin by CID, until it is fetched',
    every: 2,
    async run(node) {
      const { fetchId } = await request(node)
      await attempt(node, fetchId ?? 0)
    },
    meanwhile: [
      reconcile,
      ({ here }) => request(here, { ...mine('also'), accountId: 'two' }),
      ({ there }) => request(there, { ...mine('theirs'), clusterId: 'far', accountId: 'two' }),
    ],
    async after(nodes) {
      await request(nodes.here, mine('again'))
      const { there, database } = nodes
      const theirs = await there.fetches.find(0, DAG, 0)
      if (theirs !== undefined) await attempt(there, theirs.id)
      await areFetched(nodes, ['also', 'theirs'])
      const all = await database.reading.all<{ status: string }>("SELECT status FROM records WHERE account_id = 'one'")
      assert.deepEqual(all, [{ status: 'pinned' }])
    },
  },
  {
    name: 'a fetch attempt, while another node removes all waiting records',
    every: 2,
    before: async ({ here }) => void (await request(here)),
    run: async node => {
      const fetch = await node.fetches.find(0, DAG, 0)
      await attempt(node, fetch?.id ?? 0)
    },
    meanwhile: [
      reconcile,
      async nodes => {
        const id = await fetchIdOf(nodes)
        await remove(nodes.there)
        await nodes.there.fetches.dropIfUnneeded(id)
      },
    ],
    after: attemptAll,
  },
  {
    name: 'a failing fetch attempt',
    every: 2,
    before: async ({ here }) => void (await request(here)),
    run: async ({ fetches }) => {
      const id = (await fetches.find(0, DAG, 0))?.id ?? 0
      const begun = await fetches.start(id, NOW)
      const failure = { reason: { code: null, text: 'gone' }, retryAt: NOW + 9, blocks: 1, bytes: 2, charge: 512 }
      if (begun !== undefined) await fetches.fail(id, failure, NOW)
    },
    meanwhile: [reconcile, ({ here }) => request(here, { ...mine('also'), accountId: 'two' })],
    after: nodes => areFetched(nodes, ['mine', 'also']),
  },
]
