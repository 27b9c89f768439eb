import assert from 'node:assert/strict'
import type { CommitIntent, ListedFile, NewRecord } from '../../../src/catalogue/index.ts'
import { DAG, dagOf, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { whole } from '../../catalogue/whole-reconciliation.ts'
import type { Fault } from '../../support/database-proxy.ts'
import type { TestNode } from './catalogue-in-postgres.ts'
import type { Nodes, Outcome, Protocol } from './faults.ts'

const LIMITS = { maxPins: 100, maxStorageBytes: 2 * SIZES.charge, maxQueuedPins: 10 }
const FILES: ListedFile[] = ['a', 'b'].map(path => ({ path, size: 1, ...dagOf(path) }))
/** More records than one transaction removes. */
const MANY = 51

/** Stages and commits content as an upload does. Abandons the staged root on failure. */
export async function upload(
  { stage, records, ledger }: TestNode,
  made: readonly NewRecord[],
  { backendId = 0, files = [] as readonly ListedFile[] } = {},
): Promise<boolean[]> {
  const intents: CommitIntent[] = []
  try {
    for (const one of made) {
      const dag = { codec: one.codec, multihash: one.multihash, ...SIZES, fileCount: files.length }
      const stagedRootId = await stage(backendId, files)
      intents.push({ kind: 'whole', record: one, backendId, stagedRootId, dag, limits: LIMITS, now: NOW })
    }
    return (await records.commit(intents)).map(({ created }) => created)
  } catch (error) {
    await ledger.abandon(intents.flatMap(intent => intent.stagedRootId ?? []))
    throw error
  }
}

export const remove = (node: TestNode, accountId = 'one') =>
  node.records.remove({ accountId, dag: DAG, clusterId: null, now: NOW })

/** Runs the node's own reconciliation while one of its requests hangs. */
export const reconcile = async ({ here }: Nodes): Promise<void> => {
  await whole(here.reconciliation).holds({ after: '', limit: 1_000, mend: true })
}

const mine = () => record('mine', { name: 'mine' })
const idsOf = async ({ database }: Nodes): Promise<string[]> =>
  (await database.reading.all<{ id: string }>('SELECT id FROM records ORDER BY id')).map(({ id }) => id)

/** Checks that the outcome is true, and that a repeated upload leaves one record. */
async function isThereOnce(
  nodes: Nodes,
  { outcome, what }: { outcome: Outcome; what: Fault['what'] },
  options: Parameters<typeof upload>[2] = {},
): Promise<void> {
  const found = await nodes.here.records.get('mine')
  // After a cut connection the node looks the outcome up.
  if (what === 'cut') assert.notEqual(outcome, 'unknown')
  if (outcome !== 'unknown') assert.equal(found !== undefined, outcome === 'done')
  const created = await upload(nodes.here, [{ ...mine(), id: 'again' }], options)
  assert.deepEqual(created, [found === undefined])
}

// feature: webhooks
/** Returns how many webhook deliveries announce the removal of each record. */
async function removalDeliveries({ database }: Nodes): Promise<number[]> {
  const told = await database.reading.all<{ count: number }>(
    `SELECT COUNT(*) AS count FROM deliveries WHERE event = 'pin:removed' GROUP BY record::json->>'uploadId'`,
  )
  return told.map(({ count }) => count)
}

async function hook({ here }: Nodes): Promise<void> {
  for (const accountId of ['one', 'two']) {
    const webhook = { id: `w-${accountId}`, accountId, keyId: null, url: 'https://w', secret: Buffer.of(1) }
    await here.webhooks.insert({ ...webhook, createdAt: NOW }, 1)
  }
}
// end

export const contentProtocols: readonly Protocol[] = [
  {
    name: 'an upload',
    run: async node => void (await upload(node, [mine()])),
    meanwhile: [
      reconcile,
      ({ there }) => upload(there, [record('theirs', { clusterId: 'far', dag: dagOf('b') })]),
      ({ here }) => upload(here, [record('also', { accountId: 'two' })]),
    ],
    async after(nodes, outcome, { what }) {
      await isThereOnce(nodes, { outcome, what })
      assert.equal((await nodes.here.records.get('also'))?.status, 'pinned')
      assert.equal((await nodes.there.records.get('theirs'))?.status, 'pinned')
    },
  },
  {
    name: 'uploads that share transactions',
    async run(node) {
      const made = [mine(), record('second', { dag: dagOf('b') }), record('third', { accountId: 'two' })]
      const uploads = await Promise.allSettled(made.map(one => upload(node, [one])))
      for (const uploaded of uploads) if (uploaded.status === 'rejected') throw uploaded.reason
    },
    meanwhile: [
      reconcile,
      ({ there }) => upload(there, [record('theirs', { clusterId: 'far', dag: dagOf('c') })]).catch(isQuota),
      ({ there }) => remove(there, 'two'),
    ],
    async after(nodes, outcome) {
      const found = await idsOf(nodes)
      if (outcome === 'done') assert.ok(['mine', 'second'].every(id => found.includes(id)))
      const again = [mine(), record('second', { dag: dagOf('b') })].map(one => ({ ...one, id: `again ${one.id}` }))
      const created = await Promise.all(again.map(one => upload(nodes.here, [one]).catch(isQuota)))
      const isNew = again.map(({ id }) => !found.includes(id.slice('again '.length)))
      if (!created.includes(undefined))
        assert.deepEqual(
          created,
          isNew.map(is => [is]),
        )
    },
  },
  {
    name: 'an upload, while others use up the quota',
    run: async node => void (await upload(node, [mine()])),
    meanwhile: [
      async ({ there }) => {
        const made = ['b', 'c'].map(name => record(name, { clusterId: 'far', dag: dagOf(name) }))
        for (const one of made) await upload(there, [one]).catch(isQuota)
      },
    ],
    async after(nodes) {
      const ids = await idsOf(nodes)
      const { storedBytes } = await nodes.here.records.usage('one', NOW)
      assert.deepEqual([ids.length, storedBytes], [2, 2 * SIZES.charge])
    },
  },
  {
    name: 'an upload of a directory, while its content is removed',
    every: 2,
    before: async ({ here }) => void (await upload(here, [record('first', { accountId: 'two' })], { files: FILES })),
    run: async node => void (await upload(node, [mine()], { files: FILES })),
    meanwhile: [reconcile, ({ there }) => remove(there, 'two')],
    async after(nodes, outcome, { what }) {
      await isThereOnce(nodes, { outcome, what }, { files: FILES })
      const [id = ''] = await idsOf(nodes)
      const files = await nodes.here.files.page((await nodes.here.records.get(id))?.rootId ?? 0, 0, 9)
      assert.deepEqual(
        files.map(({ path }) => path),
        ['a', 'b'],
      )
    },
  },
  {
    name: 'a repeated upload, while its record is removed',
    before: async ({ here }) => void (await upload(here, [{ ...mine(), id: 'first' }])),
    run: async node => void (await upload(node, [mine()])),
    meanwhile: [({ there }) => remove(there)],
    async after(nodes) {
      await upload(nodes.here, [{ ...mine(), id: 'again' }])
      assert.equal((await idsOf(nodes)).length, 1)
    },
  },
  {
    name: 'a removal',
    async before(nodes) {
      await hook(nodes) // feature: webhooks
      await upload(nodes.here, [mine(), record('other', { name: 'other' })])
      await upload(nodes.there, [record('far', { clusterId: 'far' })])
    },
    run: async node => void (await remove(node)),
    meanwhile: [
      reconcile,
      ({ there }) => remove(there),
      ({ here }) => upload(here, [record('two', { accountId: 'two' })]),
    ],
    async after(nodes) {
      assert.deepEqual(await idsOf(nodes), ['two'])
      assert.deepEqual(await removalDeliveries(nodes), [1, 1, 1]) // feature: webhooks
    },
  },
  {
    name: 'a removal in several transactions',
    every: 5,
    async before(nodes) {
      const made = Array.from({ length: MANY }, (_, i) => record(`r${100 + i}`))
      await upload(nodes.here, made)
    },
    run: async node => void (await remove(node)),
    meanwhile: [reconcile],
    async after(nodes, outcome) {
      // A removal that was begun is finished, and never reported as refused.
      const left = (await idsOf(nodes)).length
      if (outcome !== 'unknown') assert.equal(left, outcome === 'done' ? 0 : MANY)
      assert.ok(left === 0 || left === MANY)
    },
  },
  {
    name: 'an expiry',
    every: 2,
    async before(nodes) {
      await hook(nodes) // feature: webhooks
      const ends = { expiresAt: NOW + 1 }
      await upload(nodes.here, [record('r1', ends), record('r2', { ...ends, accountId: 'two' }), record('stays')])
      await upload(nodes.there, [record('r3', { ...ends, clusterId: 'far' })])
    },
    run: async node => void (await node.records.expire(NOW + 1, 10)),
    meanwhile: [reconcile, ({ there }) => there.records.expire(NOW + 1, 10)],
    async after(nodes) {
      await nodes.here.records.expire(NOW + 1, 10)
      assert.deepEqual(await idsOf(nodes), ['stays'])
      assert.deepEqual(await removalDeliveries(nodes), [1, 1, 1]) // feature: webhooks
    },
  },
  {
    name: 'a reconciliation of an expired hold, while it is committed',
    async before({ database }) {
      // Makes every hold expired from the start.
      await database.command("ALTER TABLE holds ALTER placed_at SET DEFAULT clock_timestamp() - INTERVAL '1 hour'")
      await database.command("INSERT INTO holds (id, node, state) VALUES ('hold 0', 'here', 'placing')")
    },
    run: node => reconcile({ here: node } as Nodes),
    meanwhile: [({ here }) => upload(here, [mine()]).catch(isUnavailable)],
    async after({ database, here }) {
      await database.command('ALTER TABLE holds ALTER placed_at SET DEFAULT clock_timestamp()')
      if ((await here.records.get('mine')) === undefined) await upload(here, [mine()])
    },
  },
  ...(['unheld', 'lost'] as const).map(
    (problem): Protocol => ({
      name: `a reconciliation that mends a record whose content is ${problem}`,
      every: 2,
      isMending: true,
      async before({ here }) {
        await upload(here, [mine()])
        if (problem === 'unheld') await here.unhold('mine')
        else await here.lose((await here.records.get('mine'))?.rootId ?? 0)
      },
      run: async node => {
        const step = { after: '', limit: 100, homes: new Map([['near', 0]]), now: NOW, mend: true }
        await node.reconciliation.records(step)
      },
      meanwhile: [reconcile, ({ here }) => upload(here, [record('also', { accountId: 'two' })])],
      async after({ here }) {
        const status = (await here.records.get('mine'))?.status
        assert.ok(status === 'pinned' || (problem === 'lost' && status === 'pinning'), `it is ${status}`)
      },
    }),
  ),
]

function isQuota(error: unknown): void {
  assert.equal((error as { code?: string }).code, 'QUOTA_EXCEEDED')
}

function isUnavailable(error: unknown): void {
  assert.equal((error as { code?: string }).code, 'UNAVAILABLE')
}
