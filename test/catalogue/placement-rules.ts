import assert from 'node:assert/strict'
import type { PlacementRow, Placements } from '../../src/catalogue/index.ts'
import {
  AWAY,
  type ContentRule,
  commit,
  DAG,
  dagOf,
  deliver,
  ids,
  NO_LIMITS,
  NOW,
  plain,
  record,
  SIZES,
} from './content-support.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

const there = { backendId: AWAY }
const away = { clusterId: 'away' }

/** Tests of external content that every catalogue must pass. */
export const placementRules: readonly ContentRule[] = [
  {
    name: 'makes an external commit due, and pins its record once confirmed',
    async run(catalogue) {
      const { records, placements } = catalogue
      const all = Array.from({ length: 120 }, (_, i) => record(`r${1_000 + i}`, away))
      const [first] = await commit(catalogue, all, there)
      assert.equal(first?.record.status, 'pinning')
      const rootId = first?.record.rootId ?? 0
      assert.deepEqual(plain(await placements.ofRoot(rootId)), plain(await rowOf(catalogue)))
      assert.equal(await placements.ofRoot(rootId + 1), undefined)
      assert.equal((await records.usage('one', NOW)).storedBytes, 512)
      const row = await rowOf(catalogue)
      assert.deepEqual([row.isWanted, row.isPlaced, row.accountId, row.dueAt], [true, false, 'one', NOW])
      assert.deepEqual(await due(placements, {}), [row.id])
      assert.equal(await placements.nextDue(AWAY), NOW)
      assert.equal((await placements.begin(row))?.attempts, 1)
      const told: string[] = []
      for (let isDone = false; !isDone; ) {
        const step = await placements.placed(row, NOW)
        told.push(...step.changes.map(({ record: { id, status }, from }) => `${id} ${from} ${status}`))
        isDone = step.isDone
      }
      assert.deepEqual(
        told.toSorted(),
        all.map(({ id }) => `${id} pinning pinned`),
      )
      assert.deepEqual(await placements.placed(row, NOW), { changes: [], isDone: true })
      assert.equal(await placements.nextDue(AWAY), null)
      const [late] = await commit(catalogue, [record('late', away)], there)
      assert.equal(late?.record.status, 'pinned')
    },
  },
  {
    name: 'unpins a DAG only after its last record is removed',
    async run(catalogue) {
      const { records, placements } = catalogue
      await commit(catalogue, [record('r1', away), record('r2', { ...away, accountId: 'two' })], there)
      await commit(catalogue, [record('end', { ...away, dag: dagOf('b'), expiresAt: NOW + 1 })], there)
      const before = await rowOf(catalogue)
      await placed(placements, before)
      await records.remove({ accountId: 'one', dag: DAG, clusterId: null, now: NOW })
      assert.deepEqual([(await rowOf(catalogue)).isWanted, await placements.beginUnpin(before, NOW)], [true, false])
      await records.discard('r2')
      const row = await rowOf(catalogue)
      assert.deepEqual([row.isWanted, row.isPlaced, row.generation > before.generation], [false, false, true])
      assert.deepEqual(ids(await records.expire(NOW + 1, 10)), ['end'])
      assert.equal((await rowOf(catalogue, dagOf('b'))).isWanted, false)
      assert.equal((await due(placements, {})).length, 2)
      assert.equal(await placements.beginUnpin(row, NOW + 9), true)
      await placements.released(row, { now: NOW, until: 0 })
      assert.equal(await placements.find(AWAY, DAG), undefined)
    },
  },
  {
    name: 'ignores a job of an earlier generation',
    async run(catalogue) {
      const { records, placements } = catalogue
      await commit(catalogue, [record('r1', away)], there)
      const old = await rowOf(catalogue)
      await records.discard('r1')
      const between = await rowOf(catalogue)
      await commit(catalogue, [record('r2', away)], there)
      const row = await rowOf(catalogue)
      assert.deepEqual([old.id, between.id], [row.id, row.id])
      for (const key of [old, between]) {
        assert.equal(await placements.begin(key), undefined)
        assert.equal(await placements.beginUnpin(key, NOW + 9), false)
        assert.deepEqual(await placements.placed(key, NOW), { changes: [], isDone: true })
        await placements.retry(key, { at: NOW + 99, reason: 'late' })
      }
      assert.deepEqual(plain(await rowOf(catalogue)), plain(row))
      assert.equal((await records.get('r2'))?.status, 'pinning')
    },
  },
  {
    name: 'delays a new pin until no earlier unpin can arrive',
    async run(catalogue) {
      const { records, placements } = catalogue
      await commit(catalogue, [record('r1', away)], there)
      await placed(placements, await rowOf(catalogue))
      await records.discard('r1')
      const late = await rowOf(catalogue)
      assert.equal(await placements.beginUnpin(late, NOW + 60), true)
      const [made] = await commit(catalogue, [record('r2', away)], there)
      assert.equal(made?.record.status, 'pinning')
      const row = await rowOf(catalogue)
      assert.deepEqual([row.unpinUntil, row.dueAt], [NOW + 60, NOW + 60])
      await placements.released(late, { now: NOW + 5, until: 0 })
      const ended = await rowOf(catalogue)
      assert.deepEqual([ended.isWanted, ended.unpinUntil, ended.dueAt], [true, 0, NOW + 5])
    },
  },
  {
    name: 'keeps an unpinned row until no earlier request can arrive',
    async run(catalogue) {
      const { records, placements } = catalogue
      await commit(catalogue, [record('r1', away)], there)
      await records.discard('r1')
      const row = await rowOf(catalogue)
      await placements.beginUnpin(row, NOW + 80)
      await placements.released(row, { now: NOW, until: NOW + 60 })
      const { unpinUntil, dueAt } = await rowOf(catalogue)
      assert.deepEqual([unpinUntil, dueAt], [NOW + 60, NOW + 60])
      await commit(catalogue, [record('r2', away)], there)
      assert.equal((await rowOf(catalogue)).dueAt, NOW + 60)
      await records.discard('r2')
      await placements.released(await rowOf(catalogue), { now: NOW + 60, until: NOW + 60 })
      assert.equal(await placements.find(AWAY, DAG), undefined)
    },
  },
  {
    name: 'keeps records pinning until a failed attempt is retried',
    async run(catalogue) {
      const { records, placements } = catalogue
      await commit(catalogue, [record('r1', away)], there)
      const row = await rowOf(catalogue)
      await placements.begin(row)
      await placements.retry(row, { at: NOW + 50, reason: 'UNAVAILABLE: gone' })
      assert.deepEqual([await due(placements, {}), await placements.nextDue(AWAY)], [[], NOW + 50])
      assert.deepEqual(await due(placements, { now: NOW + 50 }), [row.id])
      const { attempts, lastError } = await rowOf(catalogue)
      assert.deepEqual([attempts, lastError], [1, 'UNAVAILABLE: gone'])
      assert.equal((await records.get('r1'))?.status, 'pinning')
    },
  },
  {
    name: 'sends a DAG again, once, after its backend lost it',
    async run(catalogue) {
      const { records, placements } = catalogue
      const all = Array.from({ length: 120 }, (_, i) => record(`r${1_000 + i}`, away))
      await commit(catalogue, all, there)
      const unseen = await rowOf(catalogue)
      assert.deepEqual(await placements.lost(unseen, { now: NOW, reason: 'gone' }), [])
      for (let isDone = false; !isDone; ) isDone = (await placements.placed(unseen, NOW)).isDone
      const row = await rowOf(catalogue)
      const changes = await placements.lost(row, { now: NOW + 7, reason: 'gone' })
      assert.deepEqual(
        changes
          .map(({ record: { id, status, statusReason }, from }) => `${id} ${from} ${status} ${statusReason}`)
          .sort(),
        all.map(({ id }) => `${id} pinned pinning gone`),
      )
      const lost = await rowOf(catalogue)
      assert.deepEqual(
        [
          lost.isWanted,
          lost.isPlaced,
          lost.isAnew,
          lost.attempts,
          lost.dueAt,
          lost.lastError,
          lost.generation > row.generation,
        ],
        [true, false, true, 0, NOW + 7, 'gone', true],
      )
      assert.deepEqual(await placements.lag(AWAY), { pins: 1, unpins: 0, since: NOW + 7 })
      assert.deepEqual(await placements.lost(row, { now: NOW + 9, reason: 'gone' }), [])
      const [late] = await commit(catalogue, [record('late', away)], there)
      assert.equal(late?.record.status, 'pinning')
      assert.equal((await records.usage('one', NOW)).pins, 121)
      for (let isDone = false; !isDone; ) isDone = (await placements.placed(lost, NOW + 8)).isDone
      assert.deepEqual([(await rowOf(catalogue)).isAnew, (await records.get('late'))?.status], [false, 'pinned'])
    },
  },
  {
    name: 'unpins an unknown DAG of a backend, unless a record needs it',
    async run(catalogue) {
      const { placements } = catalogue
      assert.equal(await placements.disown(AWAY, DAG, NOW + 3), true)
      assert.equal(await placements.disown(AWAY, DAG, NOW + 4), false)
      const row = await rowOf(catalogue)
      assert.deepEqual([row.isWanted, row.isPlaced, row.dueAt], [false, false, NOW + 3])
      assert.deepEqual(await due(placements, { now: NOW + 3 }), [row.id])
      const [made] = await commit(catalogue, [record('r1', away)], there)
      assert.equal(made?.record.status, 'pinning')
      assert.equal(await placements.beginUnpin(row, NOW + 9), false)
      assert.equal(await placements.disown(AWAY, DAG, NOW), false)
      assert.equal((await rowOf(catalogue)).isWanted, true)
      await placements.disown(AWAY, dagOf('b'), NOW)
      const stranger = await rowOf(catalogue, dagOf('b'))
      assert.equal(await placements.beginUnpin(stranger, NOW + 9), true)
      await placements.released(stranger, { now: NOW, until: 0 })
      assert.equal(await placements.find(AWAY, dagOf('b')), undefined)
    },
  },
  {
    name: 'counts the backlog of a backend, and lists placements by id',
    async run(catalogue) {
      const { records, placements } = catalogue
      const none = { pins: 0, unpins: 0, since: null }
      assert.deepEqual(await placements.lag(AWAY), none)
      const names = ['b', 'c', 'd']
      await commit(
        catalogue,
        names.map(name => record(name, { ...away, dag: dagOf(name) })),
        there,
      )
      await commit(catalogue, [record('other', { clusterId: 'other', dag: dagOf('f') })], { backendId: 2 })
      assert.deepEqual(await placements.lag(AWAY), { pins: 3, unpins: 0, since: NOW })
      await placed(placements, await rowOf(catalogue, dagOf('b')))
      await records.discard('c')
      assert.deepEqual(await placements.lag(AWAY), { pins: 1, unpins: 1, since: NOW })
      const first = await placements.after(0, 3)
      const rest = await placements.after(first.at(-1)?.id ?? 0, 3)
      assert.deepEqual([first.length, rest.length, rest[0]?.backendId], [3, 1, 2])
      assert.deepEqual(await placements.after(rest[0]?.id ?? 0, 3), [])
    },
  },
  {
    name: 'reads due placements by account in turn, separately for each backend',
    async run(catalogue) {
      const { placements } = catalogue
      const names = ['b', 'c', 'd']
      await commit(
        catalogue,
        names.map(name => record(name, { ...away, dag: dagOf(name) })),
        there,
      )
      await commit(catalogue, [record('theirs', { ...away, accountId: 'two', dag: dagOf('e') })], there)
      await commit(catalogue, [record('other', { clusterId: 'other', dag: dagOf('f') })], { backendId: 2 })
      const theirs = await rowOf(catalogue, dagOf('e'))
      const first = await placements.due({ backendId: AWAY, now: NOW, after: '', accounts: 1, each: 2 })
      assert.deepEqual([first.jobs.map(({ accountId }) => accountId), first.last], [['one', 'one'], 'one'])
      const { jobs: next } = await placements.due({
        backendId: AWAY,
        now: NOW,
        after: 'one',
        accounts: 1,
        each: 2,
      })
      assert.deepEqual(
        next.map(({ id }) => id),
        [theirs.id],
      )
      const all = await placements.due({ backendId: AWAY, now: NOW, after: '', accounts: 9, each: 9 })
      assert.deepEqual([all.jobs.length, all.last], [4, null])
    },
  },
  {
    name: 'pins an entrusted DAG once complete, without making it due',
    async run(catalogue) {
      const { placements, fetches } = catalogue
      const fetchId = await waiting(catalogue, 'r1')
      await fetches.start(fetchId, NOW)
      const row = await placements.entrust(AWAY, DAG, { accountId: 'one', now: NOW })
      assert.deepEqual([row.isWanted, row.isPlaced, row.dueAt, row.accountId], [true, false, null, 'one'])
      assert.deepEqual(plain(await placements.entrust(AWAY, DAG, { accountId: 'two', now: NOW + 1 })), plain(row))
      assert.deepEqual([await due(placements, {}), await placements.nextDue(AWAY)], [[], null])
      assert.deepEqual(plain(await placements.lag(AWAY)), { pins: 1, unpins: 0, since: NOW })
      await fetches.complete(fetchId, { ...DAG, ...SIZES })
      assert.deepEqual(await placements.placed(row, NOW), { changes: [], isDone: true })
      const { changes, isDone } = await deliver(catalogue, fetchId)
      const told = changes.map(({ record: { id, status }, from }) => `${id} ${from} ${status}`)
      assert.deepEqual([told, isDone], [['r1 pinning pinned'], true])
      const { isWanted, isPlaced, dueAt } = await rowOf(catalogue)
      assert.deepEqual([isWanted, isPlaced, dueAt], [true, true, null])
      await placements.withdraw(AWAY, DAG)
      assert.equal((await rowOf(catalogue)).isWanted, true)
    },
  },
  {
    name: 'unpins an entrusted DAG with its last waiting record, or when withdrawn',
    async run(catalogue) {
      const { placements, records, fetches } = catalogue
      const fetchId = await waiting(catalogue, 'r1')
      const entrusted = await placements.entrust(AWAY, DAG, { accountId: 'one', now: NOW })
      assert.equal(await fetches.dropIfUnneeded(fetchId), false)
      assert.equal((await rowOf(catalogue)).isWanted, true)
      await records.discard('r1')
      assert.equal(await fetches.dropIfUnneeded(fetchId), true)
      const row = await rowOf(catalogue)
      assert.deepEqual([row.isWanted, row.generation > entrusted.generation], [false, true])
      assert.deepEqual(await due(placements, {}), [row.id])
      // An earlier unpin may still arrive, so its end makes nothing due.
      await placements.beginUnpin(row, NOW + 60)
      const again = await placements.entrust(AWAY, DAG, { accountId: 'one', now: NOW })
      assert.deepEqual([again.isWanted, again.dueAt, again.unpinUntil], [true, null, NOW + 60])
      await placements.released(row, { now: NOW + 5, until: 0 })
      assert.deepEqual([(await rowOf(catalogue)).isWanted, await due(placements, { now: NOW + 99 })], [true, []])
      await placements.withdraw(AWAY, DAG)
      assert.deepEqual([(await rowOf(catalogue)).isWanted, await due(placements, {})], [false, [row.id]])
    },
  },
  {
    name: 'sends an entrusted DAG once this node has its content',
    async run(catalogue) {
      const { placements } = catalogue
      const row = await placements.entrust(AWAY, DAG, { accountId: 'one', now: NOW })
      const [made] = await commit(catalogue, [record('r1', away)], there)
      assert.equal(made?.record.status, 'pinning')
      assert.deepEqual([(await rowOf(catalogue)).isWanted, await due(placements, {})], [true, [row.id]])
    },
  },
]

/** Requests a record that waits for a fetch on the external backend. Returns the id of the fetch. */
async function waiting({ fetches }: ContentCatalogue, id: string): Promise<number> {
  const queued = { ...record(id, away), status: 'queued' as const }
  const made = await fetches.request({
    record: queued,
    owner: 0,
    backendId: AWAY,
    origins: [],
    limits: NO_LIMITS,
    now: NOW,
  })
  return made.fetchId ?? 0
}

async function rowOf({ placements }: ContentCatalogue, dag = DAG): Promise<PlacementRow> {
  const row = await placements.find(AWAY, dag)
  assert.ok(row !== undefined)
  return row
}

async function due(placements: Placements, { now = NOW }: { now?: number }): Promise<number[]> {
  const found = await placements.due({ backendId: AWAY, now, after: '', accounts: 9, each: 9 })
  return found.jobs.map(({ id }) => id)
}

async function placed(placements: Placements, row: PlacementRow): Promise<void> {
  await placements.begin(row)
  assert.equal((await placements.placed(row, NOW)).isDone, true)
}
