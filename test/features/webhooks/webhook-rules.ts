import assert from 'node:assert/strict'
import { type DeliveryRow, ENDED_DELIVERIES_KEPT } from '../../../src/catalogue/index.ts'
import {
  type ContentRule,
  commit,
  DAG,
  dagOf,
  NO_LIMITS,
  NOW,
  record,
  request,
  SIZES,
} from '../../catalogue/content-support.ts'
import type { ContentCatalogue } from '../../catalogue/memory-catalogue.ts'

const ALL = { after: null, limit: 1_000 }
const outcome = { status: 200, error: null, at: NOW }

/** Tests of webhooks that every catalogue must pass. */
export const webhookRules: readonly ContentRule[] = [
  {
    name: 'adds a delivery per webhook for each committed change of a record',
    async run(catalogue) {
      const { records, fetches, webhooks } = catalogue
      for (const id of ['w1', 'w2']) assert.equal(await hook(catalogue, id), 'inserted')
      await hook(catalogue, 'theirs', { accountId: 'two' })
      const { fetchId } = await request(catalogue, record('r1', { meta: '{"of":"one"}' }))
      await fetches.start(fetchId ?? 0, NOW + 1)
      await fetches.complete(fetchId ?? 0, { ...DAG, ...SIZES })
      await fetches.deliver(fetchId ?? 0, new Map([['one', NO_LIMITS]]), NOW + 2)
      await records.discard('r1')
      await assert.rejects(commit(catalogue, [record('r2'), record('r3', { dag: dagOf('b') })], { maxPins: 1 }))
      const told = [
        ['pin:created', 'queued', null, NOW],
        ['pin:status', 'pinning', 'queued', NOW + 1],
        ['pin:status', 'pinned', 'pinning', NOW + 2],
        ['pin:removed', 'pinned', null, null],
      ]
      for (const id of ['w1', 'w2']) assert.deepEqual((await log(catalogue, id)).map(view), told)
      assert.deepEqual(await log(catalogue, 'theirs'), [])
      const [first] = await log(catalogue, 'w1')
      const { uploadId, cid, clusterId, name, type, size, meta } = JSON.parse(first?.record ?? '') as Record<
        string,
        unknown
      >
      assert.deepEqual(
        [uploadId, cid, clusterId, name, type, size, meta],
        ['r1', 'cid', 'near', 'r1', 'file', 10, { of: 'one' }],
      )
      assert.deepEqual(
        (await webhooks.list('one')).map(({ id, waiting }) => [id, waiting]),
        [
          ['w1', 4],
          ['w2', 4],
        ],
      )
    },
  },
  {
    name: 'keeps a delivery due until it ends, and stores its attempts',
    async run(catalogue) {
      const { webhooks } = catalogue
      await hook(catalogue, 'w1')
      await commit(catalogue, [record('r1')])
      const { jobs } = await webhooks.due({ now: NOW, after: '', accounts: 9, each: 9 })
      const id = jobs[0]?.id ?? 0
      assert.equal((await webhooks.begin(id, NOW))?.delivery.attempts, 1)
      await webhooks.retry(id, { status: 500, error: 'not now', at: NOW, dueAt: NOW + 50 })
      assert.deepEqual([await webhooks.nextDue(), await dueIds(catalogue, NOW)], [NOW + 50, []])
      const begun = await webhooks.begin(id, NOW + 50)
      assert.deepEqual(
        [begun?.delivery.attempts, begun?.delivery.lastStatus, begun?.webhook.url],
        [2, 500, 'https://w1'],
      )
      await webhooks.end(id, { ...outcome, isDelivered: true })
      assert.equal(await webhooks.begin(id, NOW + 99), undefined)
      await webhooks.end(id, { ...outcome, isDelivered: false })
      await webhooks.retry(id, { status: 500, error: 'too late', at: NOW, dueAt: NOW })
      const [row] = await log(catalogue, 'w1')
      assert.deepEqual([row?.isDelivered, row?.lastStatus, row?.lastError, row?.dueAt], [true, 200, null, null])
      assert.deepEqual([await webhooks.nextDue(), (await webhooks.get('one', 'w1'))?.waiting], [null, 0])
    },
  },
  {
    name: 'postpones what waits for one webhook',
    async run(catalogue) {
      const { webhooks } = catalogue
      for (const id of ['w1', 'w2']) await hook(catalogue, id)
      for (const id of ['r1', 'r2', 'r3']) await commit(catalogue, [record(id)])
      const [ended = 0, retried = 0] = (await log(catalogue, 'w1')).map(({ id }) => id)
      await webhooks.begin(ended, NOW)
      await webhooks.end(ended, { ...outcome, isDelivered: true })
      await webhooks.retry(retried, { ...outcome, dueAt: NOW + 90 })
      await webhooks.postpone('w1', NOW + 50)
      const { jobs } = await webhooks.due({ now: NOW + 49, after: '', accounts: 9, each: 9 })
      assert.deepEqual(
        jobs.map(({ webhookId }) => webhookId),
        ['w2', 'w2', 'w2'],
      )
      await commit(catalogue, [record('r4')])
      assert.equal((await dueIds(catalogue, NOW)).length, 5)
      const waiting = (await log(catalogue, 'w1')).map(({ dueAt }) => dueAt)
      assert.deepEqual(
        waiting.filter(dueAt => dueAt !== null && dueAt > NOW),
        [NOW + 90, NOW + 50],
      )
      assert.equal((await webhooks.get('one', 'w1'))?.waiting, 3)
    },
  },
  {
    name: 'lists deliveries of all accounts, and sends a failed one again',
    async run(catalogue) {
      const { webhooks } = catalogue
      await hook(catalogue, 'w1')
      await hook(catalogue, 'theirs', { accountId: 'two' })
      await commit(catalogue, [record('r1'), record('r2', { accountId: 'two', dag: dagOf('b') })])
      const [theirs = 0, own = 0] = (await webhooks.recent(false, ALL)).rows.map(({ id }) => id)
      const first = await webhooks.recent(false, { after: null, limit: 1 })
      assert.deepEqual([first.rows[0]?.url, first.rows[0]?.accountId], ['https://theirs', 'two'])
      const second = await webhooks.recent(false, { after: first.next, limit: 1 })
      assert.deepEqual([second.rows[0]?.id, second.next], [own, null])
      for (const [id, isDelivered] of [
        [theirs, true],
        [own, false],
      ] as const) {
        await webhooks.begin(id, NOW)
        await webhooks.end(id, { ...outcome, isDelivered })
      }
      assert.deepEqual(
        (await webhooks.recent(true, ALL)).rows.map(({ id }) => id),
        [own],
      )
      assert.deepEqual(await Promise.all([theirs, own, 99].map(id => webhooks.resend(id, NOW + 7))), [
        false,
        true,
        false,
      ])
      assert.equal(await webhooks.resend(own, NOW + 8), false)
      assert.deepEqual((await webhooks.recent(true, ALL)).rows, [])
      assert.deepEqual([await webhooks.nextDue(), (await webhooks.list('one'))[0]?.waiting], [NOW + 7, 1])
      assert.equal((await webhooks.begin(own, NOW + 7))?.delivery.attempts, 1)
      await webhooks.end(own, { ...outcome, isDelivered: true })
      assert.deepEqual([await webhooks.nextDue(), (await webhooks.list('one'))[0]?.waiting], [null, 0])
    },
  },
  {
    name: 'limits the waiting and the ended deliveries of a webhook',
    async run(catalogue) {
      const { records, webhooks } = catalogue
      await hook(catalogue, 'w1')
      const made = Array.from({ length: 510 }, (_, i) => record(`r${i}`))
      await commit(catalogue, made)
      await records.remove({ accountId: 'one', dag: DAG, clusterId: null, now: NOW })
      const full = await webhooks.get('one', 'w1')
      assert.deepEqual([full?.waiting, full?.dropped], [1_000, 20])
      const rows = await log(catalogue, 'w1')
      for (const { id } of rows.slice(0, ENDED_DELIVERIES_KEPT + 3)) {
        await webhooks.end(id, { ...outcome, isDelivered: true })
      }
      const left = await log(catalogue, 'w1')
      assert.equal(left.filter(({ dueAt }) => dueAt === null).length, ENDED_DELIVERIES_KEPT)
      assert.equal(left[0]?.id, rows[3]?.id)
      await commit(catalogue, [record('more')])
      const after = await webhooks.get('one', 'w1')
      assert.deepEqual([after?.waiting, after?.dropped], [1_000 - ENDED_DELIVERIES_KEPT - 2, 20])
    },
  },
  {
    name: 'removes a webhook with its deliveries, or with its key',
    async run(catalogue) {
      const { webhooks, keys } = catalogue
      assert.equal(await hook(catalogue, 'nobody', { accountId: 'nobody' }), 'no_account')
      assert.equal(await hook(catalogue, 'keyless', { keyId: 'gone' }), 'no_key')
      const key = {
        ...{ id: 'key', accountId: 'one', parentId: null, name: 'key', label: null, hash: Buffer.from('key') },
        ...{
          prefix: 'hf_',
          scopes: [],
          ipAllowlist: [],
          createdAt: NOW,
          expiresAt: null,
          lastUsedAt: null,
          upload: null,
        },
      }
      await keys.insert(key, { now: NOW, maxKeys: null })
      assert.equal(await hook(catalogue, 'w1', { keyId: 'key' }), 'inserted')
      assert.equal(await hook(catalogue, 'w2'), 'inserted')
      assert.equal(await hook(catalogue, 'w3'), 'too_many')
      await commit(catalogue, [record('r1')])
      assert.equal((await dueIds(catalogue, NOW)).length, 2)
      assert.deepEqual([await webhooks.get('two', 'w2'), await webhooks.remove('two', 'w2')], [null, false])
      assert.equal(await keys.revoke('key'), 1)
      assert.deepEqual(
        (await webhooks.list('one')).map(({ id }) => id),
        ['w2'],
      )
      assert.equal((await dueIds(catalogue, NOW)).length, 1)
      assert.equal(await webhooks.remove('one', 'w2'), true)
      assert.deepEqual([await dueIds(catalogue, NOW), await webhooks.remove('one', 'w2')], [[], false])
    },
  },
  {
    name: 'reads due deliveries by account in turn, and lists the newest first',
    async run(catalogue) {
      const { webhooks } = catalogue
      await hook(catalogue, 'w1')
      await hook(catalogue, 'w2', { accountId: 'two' })
      for (const id of ['r1', 'r2', 'r3']) await commit(catalogue, [record(id)])
      await commit(catalogue, [record('r4', { accountId: 'two' })])
      const first = await webhooks.due({ now: NOW, after: '', accounts: 1, each: 2 })
      assert.deepEqual([first.jobs.map(({ accountId }) => accountId), first.last], [['one', 'one'], 'one'])
      const next = await webhooks.due({ now: NOW, after: 'one', accounts: 2, each: 2 })
      assert.deepEqual([next.jobs.map(({ accountId }) => accountId), next.last], [['two'], null])
      const page = await webhooks.deliveries('w1', { after: null, limit: 2 })
      const rest = await webhooks.deliveries('w1', { after: page.next, limit: 2 })
      const names = [...page.rows, ...rest.rows].map(row => (JSON.parse(row.record) as { name: string }).name)
      assert.deepEqual([names, rest.next], [['r3', 'r2', 'r1'], null])
    },
  },
]

function hook({ webhooks }: ContentCatalogue, id: string, more: { accountId?: string; keyId?: string } = {}) {
  const webhook = { id, accountId: 'one', keyId: null, url: `https://${id}`, secret: Buffer.from(id), createdAt: NOW }
  return webhooks.insert({ ...webhook, ...more }, 2)
}

/** Returns the deliveries of a webhook, oldest first. */
async function log({ webhooks }: ContentCatalogue, id: string): Promise<DeliveryRow[]> {
  return (await webhooks.deliveries(id, ALL)).rows.toReversed()
}

function view({ event, record: text, from, createdAt }: DeliveryRow): unknown[] {
  return [event, (JSON.parse(text) as { status: string }).status, from, createdAt]
}

async function dueIds({ webhooks }: ContentCatalogue, now: number): Promise<number[]> {
  return (await webhooks.due({ now, after: '', accounts: 9, each: 9 })).jobs.map(({ id }) => id)
}
