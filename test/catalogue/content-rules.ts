import assert from 'node:assert/strict'
import { OVER_QUOTA, type RecordRow } from '../../src/catalogue/index.ts'
import {
  type ContentRule,
  commit,
  DAG,
  dagOf,
  deliver,
  everywhere,
  ids,
  isCode,
  listOf,
  NO_LIMITS,
  NOW,
  plain,
  record,
  request,
  SIZES,
} from './content-support.ts'

export const contentRules: readonly ContentRule[] = [
  {
    name: 'returns a committed record from all reads and from an identical commit',
    async run(catalogue) {
      const { records } = catalogue
      const [first] = await commit(catalogue, [record('r1')])
      assert.equal(first?.created, true)
      const [again] = await commit(catalogue, [{ ...record('r2'), name: 'r1' }])
      assert.deepEqual([again?.created, again?.record.id], [false, 'r1'])
      const [longer] = await commit(catalogue, [{ ...record('longer', { expiresAt: NOW + 1 }), name: 'r1' }])
      assert.deepEqual([longer?.created, await records.discard('longer')], [true, true])
      const { rootId, ...row } = (await records.get('r1')) as RecordRow
      assert.deepEqual({ ...record('r1'), charge: 512, dagSize: 20, fetchId: null }, plain(row))
      assert.notEqual(rootId, null)
      assert.deepEqual(ids(await records.ofDag({ accountId: 'one', dag: DAG, ...everywhere })), ['r1'])
      assert.deepEqual(ids((await records.page(listOf('one'), 0, 10)).rows), ['r1'])
      assert.equal((await records.newestOf({ accountId: 'one', dag: DAG, hasExpiration: false, now: NOW }))?.id, 'r1')
      assert.deepEqual(plain(await records.usage('one', NOW)), { pins: 1, expiringPins: 0, storedBytes: 512 })
      assert.deepEqual(await records.ofDag({ accountId: 'two', dag: DAG, ...everywhere }), [])
      assert.deepEqual(plain(await records.usage('two', NOW)), { pins: 0, expiringPins: 0, storedBytes: 0 })
    },
  },
  {
    name: 'commits a second record of identical requests if asked to',
    async run(catalogue) {
      const { records } = catalogue
      const limits = { maxPins: 3, maxStorageBytes: 512 }
      await commit(catalogue, [record('r1')], limits)
      const waits = await request(catalogue, { ...record('r2', { dag: dagOf('b') }), name: 'r2' })
      const again = await commit(catalogue, [{ ...record('r3'), name: 'r1' }], { ...limits, isAnew: true })
      assert.deepEqual([again[0]?.created, again[0]?.record.id, again[0]?.waited], [true, 'r3', null])
      assert.deepEqual(plain(await records.usage('one', NOW)), { pins: 3, expiringPins: 0, storedBytes: 512 })
      const fourth = commit(catalogue, [{ ...record('r4'), name: 'r1' }], { ...limits, isAnew: true })
      await assert.rejects(fourth, isCode('QUOTA_EXCEEDED'))
      const beside = { dag: dagOf('b') }
      await commit(catalogue, [{ ...record('r5', beside), name: 'r2' }], { isAnew: true })
      assert.deepEqual([waits.created, (await records.get('r2'))?.status], [true, 'queued'])
      assert.deepEqual(await records.discard('r1'), true)
      assert.notEqual((await records.get('r3'))?.rootId, null)
      assert.equal((await records.usage('one', NOW)).storedBytes, 1_024)
    },
  },
  {
    name: 'counts the bytes of content for a waiting record, but no second pin',
    async run(catalogue) {
      const { records, fetches } = catalogue
      await request(catalogue, record('r1'))
      const upload = [{ ...record('r2'), name: 'r1' }]
      const tooLarge = commit(catalogue, upload, { maxPins: 1, maxStorageBytes: 511 })
      await assert.rejects(tooLarge, isCode('QUOTA_EXCEEDED'))
      const [made] = await commit(catalogue, upload, { maxPins: 1, maxStorageBytes: 512 })
      assert.deepEqual([made?.created, made?.record.id, made?.waited?.id], [false, 'r1', 'r1'])
      const { fetchId } = await request(catalogue, record('r3', { dag: dagOf('b') }))
      const id = fetchId ?? 0
      await fetches.start(id, NOW)
      await fetches.complete(id, { ...dagOf('b'), ...SIZES })
      await fetches.deliver(id, new Map([['one', { ...NO_LIMITS, maxPins: 1 }]]), NOW)
      assert.equal((await records.get('r3'))?.status, 'pinned')
    },
  },
  {
    name: 'commits several records together or not at all',
    async run(catalogue) {
      const { records } = catalogue
      const refused = commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') })], { maxPins: 1 })
      await assert.rejects(refused, isCode('QUOTA_EXCEEDED'))
      assert.equal(await records.get('r1'), undefined)
      assert.deepEqual((await records.page(listOf('one'), 0, 10)).total, 0)
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') })], { maxPins: 2 })
      assert.equal((await records.page(listOf('one'), 0, 10)).total, 2)
    },
  },
  {
    name: 'enforces the storage quota, counting each content once per account',
    async run(catalogue) {
      const limits = { maxStorageBytes: 512 }
      await commit(catalogue, [record('r1'), record('r2')], limits)
      await assert.rejects(commit(catalogue, [record('r3', { dag: dagOf('b') })], limits), isCode('QUOTA_EXCEEDED'))
      assert.equal((await catalogue.records.usage('one', NOW)).storedBytes, 512)
      await catalogue.records.discard('r1')
      assert.equal((await catalogue.records.usage('one', NOW)).storedBytes, 512)
      await catalogue.records.discard('r2')
      assert.equal((await catalogue.records.usage('one', NOW)).storedBytes, 0)
      await commit(catalogue, [record('r3', { dag: dagOf('b') })], limits)
      // While deletion is stopped, the limit may be below zero.
      await commit(catalogue, [record('r4', { dag: dagOf('b') })], { maxStorageBytes: -1 })
    },
  },
  {
    name: 'removes exactly the matching records, and returns each once',
    async run(catalogue) {
      const { records } = catalogue
      const all = Array.from({ length: 120 }, (_, i) => record(`r${1_000 + i}`, { createdAt: i }))
      await commit(catalogue, all)
      await commit(catalogue, [record('far', { clusterId: 'far' }), record('b', { dag: dagOf('b') })])
      await commit(catalogue, [record('theirs', { accountId: 'two' })])
      const removed = await records.remove({ accountId: 'one', dag: DAG, clusterId: 'near', now: NOW })
      assert.deepEqual(ids(removed), all.map(({ id }) => id).toReversed())
      assert.deepEqual(await records.remove({ accountId: 'one', dag: DAG, clusterId: 'near', now: NOW }), [])
      assert.deepEqual(ids((await records.page(listOf('one'), 0, 10)).rows).toSorted(), ['b', 'far'])
      assert.equal((await records.get('theirs'))?.id, 'theirs')
      assert.deepEqual(ids(await records.discardAll(['gone', 'far'])), ['far'])
      assert.equal(await records.discard('far'), false)
    },
  },
  {
    name: 'removes the records of a node whose clock is ahead',
    async run(catalogue) {
      const { records } = catalogue
      const all = Array.from({ length: 70 }, (_, i) => record(`r${i}`, { createdAt: NOW + 1_000 + i }))
      await commit(catalogue, all)
      const removed = await records.remove({ accountId: 'one', dag: DAG, clusterId: null, now: NOW })
      assert.equal(removed.length, all.length)
    },
  },
  {
    name: 'hides expired records, and removes them once, earliest first',
    async run(catalogue) {
      const { records } = catalogue
      const ends = [NOW + 30, NOW + 10, NOW + 20, NOW + 99]
      await commit(
        catalogue,
        ends.map((expiresAt, i) => record(`r${i}`, { expiresAt, dag: dagOf(`${i}`) })),
      )
      assert.equal(await records.nextExpiry(), NOW + 10)
      const later = NOW + 30
      assert.deepEqual(ids((await records.page({ ...listOf('one'), now: later }, 0, 10)).rows), ['r3'])
      assert.equal((await records.usage('one', later)).pins, 1)
      assert.equal(
        await records.rename({ accountId: 'one', id: 'r1', name: 'late', meta: undefined, now: later }),
        false,
      )
      assert.deepEqual(ids(await records.expire(later, 2)), ['r1', 'r2'])
      assert.deepEqual(ids(await records.expire(later, 2)), ['r0'])
      assert.deepEqual(await records.expire(later, 2), [])
      assert.equal(await records.nextExpiry(), NOW + 99)
    },
  },
  {
    name: 'lists records newest first, in pages without gaps, with their total',
    async run(catalogue) {
      const { records } = catalogue
      const made = Array.from({ length: 7 }, (_, i) => {
        const expiresAt = i % 2 === 0 ? NOW * 2 : null
        return record(`r${i}`, { createdAt: Math.floor(i / 2), dag: dagOf(`${i}`), expiresAt })
      })
      await commit(catalogue, [...made, record('theirs', { accountId: 'two', createdAt: 9 })])
      const pages = [0, 3, 6].map(async offset => (await records.page(listOf('one'), offset, 3)).rows)
      assert.deepEqual(ids((await Promise.all(pages)).flat()), ['r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0'])
      const expiring = await records.page({ ...listOf('one'), hasExpiration: true }, 1, 2)
      assert.deepEqual([ids(expiring.rows), expiring.total], [['r4', 'r2'], 4])
      const one = await records.page({ ...listOf('one'), multihash: dagOf('3').multihash }, 0, 3)
      assert.deepEqual([ids(one.rows), one.total], [['r3'], 1])
    },
  },
  {
    name: 'walks over each record once, despite inserts and removals between pages',
    async run(catalogue) {
      const { records } = catalogue
      const made = Array.from({ length: 5 }, (_, i) => record(`r${i}`, { createdAt: i, dag: dagOf(`${i}`) }))
      await commit(catalogue, made)
      const first = await records.walk(listOf('one'), { after: null, limit: 2 })
      assert.deepEqual(ids(first.rows), ['r4', 'r3'])
      const second = await records.walk(listOf('one'), { after: first.next, limit: 2 })
      assert.deepEqual(ids(second.rows), ['r2', 'r1'])
      await commit(catalogue, [record('r9', { createdAt: 9, dag: dagOf('9') })])
      const third = await records.walk(listOf('one'), { after: second.next, limit: 2 })
      assert.deepEqual([ids(third.rows), third.next], [['r0'], null])
    },
  },
  {
    name: 'lets only the account of a record rename it',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1')])
      assert.equal(
        await records.rename({ accountId: 'two', id: 'r1', name: 'theirs', meta: undefined, now: NOW }),
        false,
      )
      assert.equal((await records.get('r1'))?.name, 'r1')
      assert.equal(await records.rename({ accountId: 'one', id: 'r1', name: 'mine', meta: undefined, now: NOW }), true)
      assert.equal((await records.get('r1'))?.name, 'mine')
    },
  },
  {
    name: 'shares one fetch between records, and delivers to each once',
    async run(catalogue) {
      const { records, fetches } = catalogue
      const first = await request(catalogue, record('r1'))
      const second = await request(catalogue, record('r2', { accountId: 'two' }))
      assert.equal(first.fetchId, second.fetchId)
      const id = first.fetchId ?? 0
      assert.deepEqual((await fetches.waitingAccounts(id)).toSorted(), ['one', 'two'])
      const due = { now: NOW, after: '', accounts: 10, each: 10 }
      assert.deepEqual(
        (await fetches.due(due)).jobs.map(fetch => fetch.id),
        [id],
      )
      const started = await fetches.start(id, NOW)
      assert.deepEqual([started?.fetch.attempts, started?.changes.length], [1, 2])
      assert.deepEqual((await fetches.due(due)).jobs, [])
      assert.equal(await fetches.nextDue(), null)
      assert.equal((await records.get('r1'))?.status, 'pinning')
      await fetches.complete(id, { ...DAG, ...SIZES })
      const { changes, isDone } = await deliver(catalogue, id)
      assert.deepEqual(changes.map(({ record: row, from }) => [row.id, row.status, from]).toSorted(), [
        ['r1', 'pinned', 'pinning'],
        ['r2', 'pinned', 'pinning'],
      ])
      assert.equal(isDone, true)
      assert.equal(await fetches.get(id), undefined)
      assert.deepEqual(await deliver(catalogue, id), { changes: [], isDone: true })
      assert.deepEqual(
        [(await records.get('r1'))?.size, (await records.usage('two', NOW)).storedBytes],
        [SIZES.contentSize, SIZES.charge],
      )
    },
  },
  {
    name: 'fails records over the quota with a reason, and delivers to others',
    async run(catalogue) {
      const { records, fetches } = catalogue
      const { fetchId } = await request(catalogue, record('r1'))
      await request(catalogue, record('r2', { accountId: 'two' }))
      const id = fetchId ?? 0
      await fetches.start(id, NOW)
      await fetches.complete(id, { ...DAG, ...SIZES })
      const limits = new Map([['one', { ...NO_LIMITS, maxStorageBytes: 511 }]])
      const { isDone } = await fetches.deliver(id, limits, NOW)
      assert.equal(isDone, false)
      const { status, statusCode, statusReason } = (await records.get('r1')) as RecordRow
      assert.deepEqual([status, statusCode, statusReason], ['failed', OVER_QUOTA.code, OVER_QUOTA.text])
      assert.equal((await deliver(catalogue, id)).isDone, true)
      assert.deepEqual(
        [(await records.get('r2'))?.status, (await records.usage('one', NOW)).storedBytes],
        ['pinned', 0],
      )
    },
  },
  {
    name: 'retries a failed attempt when due, and reuses an identical record',
    async run(catalogue) {
      const { records, fetches } = catalogue
      const { fetchId } = await request(catalogue, record('r1'))
      const id = fetchId ?? 0
      await fetches.start(id, NOW)
      const reason = { code: 'CID_NOT_FOUND' as const, text: 'CID_NOT_FOUND: nobody has it' }
      const told = await fetches.fail(id, { reason, retryAt: NOW + 50, blocks: 1, bytes: 2, charge: 512 }, NOW)
      assert.deepEqual(
        told.map(({ record: row, from }) => [row.id, row.status, from]),
        [['r1', 'failed', 'pinning']],
      )
      const failed = (await records.get('r1')) as RecordRow
      assert.deepEqual([failed.status, failed.statusCode, failed.statusReason], ['failed', reason.code, reason.text])
      assert.equal(await fetches.nextDue(), NOW + 50)
      assert.deepEqual(plain(await fetches.heldFor('one')), [{ id, charge: 512 }])
      const again = await request(catalogue, { ...record('r2'), name: 'r1' })
      assert.deepEqual([again.created, again.record.id, again.record.status], [false, 'r1', 'queued'])
      const started = await fetches.start(id, NOW)
      assert.equal(started?.fetch.bytes, 2)
      assert.deepEqual([(await records.get('r1'))?.statusCode, (await fetches.resume(NOW)).length], [null, 1])
      assert.equal((await records.get('r1'))?.status, 'queued')
    },
  },
  {
    name: 'removes a fetch with its last waiting record',
    async run(catalogue) {
      const { records, fetches } = catalogue
      const { fetchId } = await request(catalogue, record('r1'))
      await request(catalogue, record('r2', { accountId: 'two' }))
      const id = fetchId ?? 0
      await records.discard('r1')
      assert.equal(await fetches.dropIfUnneeded(id), false)
      await fetches.refuse(['r2'], { code: null, text: 'refused' }, NOW)
      assert.equal(await fetches.isWanted(id), false)
      assert.equal(await fetches.dropIfUnneeded(id), true)
      assert.equal(await fetches.find(0, DAG, 0), undefined)
    },
  },
  {
    name: 'limits waiting records to the number in the plan',
    async run(catalogue) {
      const limits = { ...NO_LIMITS, maxQueuedPins: 1 }
      await request(catalogue, record('r1'), limits)
      await assert.rejects(request(catalogue, record('r2', { dag: dagOf('b') }), limits), isCode('QUOTA_EXCEEDED'))
      assert.equal(await catalogue.records.get('r2'), undefined)
      await request(catalogue, record('r3', { accountId: 'two' }), limits)
    },
  },
  {
    name: 'fulfils a waiting record when its content is uploaded',
    async run(catalogue) {
      const { fetchId } = await request(catalogue, record('r1'))
      const [made] = await commit(catalogue, [{ ...record('r2'), name: 'r1' }])
      assert.deepEqual([made?.created, made?.record.id, made?.record.status], [false, 'r1', 'pinned'])
      assert.deepEqual([made?.waited?.status, made?.waited?.fetchId], ['queued', fetchId])
      assert.equal(await catalogue.fetches.dropIfUnneeded(fetchId ?? 0), true)
    },
  },
]
