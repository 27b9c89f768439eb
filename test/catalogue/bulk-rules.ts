import assert from 'node:assert/strict'
import {
  type BulkChange,
  CHANGE_KEPT_MS,
  MOST_CHANGES,
  type PinLimits,
  type RecordRow,
} from '../../src/catalogue/index.ts'
import {
  ANY_SEARCH,
  type ContentRule,
  commit,
  DAG,
  dagOf,
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
import { editRules } from './edit-rules.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

const UNDO_MS = 100

/** Tests of changes of many records that every catalogue must pass. */
export const bulkRules: readonly ContentRule[] = [
  {
    name: 'ends one undo period after the other while an account keeps too much',
    async run(catalogue) {
      const { bulk } = catalogue
      const changes: BulkChange[] = []
      for (const content of ['a', 'b', 'c', 'd']) {
        await commit(catalogue, [record(content, { dag: dagOf(content) })])
        const change = await added(catalogue, [content])
        changes.push(change)
        await removeAll(catalogue, change)
      }
      const [first, second] = changes.map(({ id }) => id)
      const ending = () => bulk.endExcess({ accountId: 'one', most: SIZES.charge, now: NOW })
      assert.equal(await bulk.endExcess({ accountId: 'one', most: 4 * SIZES.charge, now: NOW }), null)
      const [newest] = await bulk.endPeriods({ accountId: 'one', why: 'owner', limit: 1 })
      assert.deepEqual(await dueAt(catalogue, NOW), [newest?.id])
      // The records of the newest job are not purged yet.
      assert.deepEqual([newest?.id, await ending()], [changes[3]?.id, null])
      while (await bulk.purge(newest?.id ?? 0, NOW));
      assert.equal((await ending())?.id, first)
      // The records of the first job are not purged yet.
      assert.equal(await ending(), null)
      while (await bulk.purge(first ?? 0, NOW));
      assert.equal((await ending())?.id, second)
      while (await bulk.purge(second ?? 0, NOW));
      assert.deepEqual([await ending(), await bulk.keptBytes('one')], [null, SIZES.charge])
    },
  },
  {
    name: 'counts released content while deletion is stopped',
    async run(catalogue) {
      const { bulk, stops, records } = catalogue
      const { charge } = SIZES
      const undeleted = () => stops.undeletedBytes('one')
      const before = ['a', 'b', 'c', 'd', 'e', 'f'].map(id => record(id, { dag: dagOf(id) }))
      await commit(catalogue, [...before, record('again', { dag: dagOf('b') })])
      await commit(catalogue, [record('theirs', { accountId: 'two', dag: dagOf('c') })])
      await records.discard('a')
      assert.equal(await undeleted(), 0)
      await stops.begin()
      // Another record of the account names the content.
      await records.discard('b')
      assert.equal(await undeleted(), 0)
      // Records of others do not matter.
      await records.discard('c')
      const kept = await added(catalogue, ['d'])
      await removeAll(catalogue, kept)
      const gone = await added(catalogue, ['e'], 0)
      await removeAll(catalogue, gone)
      assert.deepEqual([await undeleted(), await bulk.keptBytes('one')], [3 * charge, charge])
      while (await bulk.purge(kept.id, NOW + UNDO_MS));
      assert.deepEqual([await undeleted(), await bulk.keptBytes('one')], [3 * charge, 0])
      assert.equal(await stops.undeletedBytes('two'), 0)
      await stops.begin()
      assert.equal(await undeleted(), 0)
      await records.discard('f')
      assert.equal(await undeleted(), charge)
      await stops.end()
      assert.equal(await undeleted(), 0)
      await records.discard('again')
      assert.equal(await undeleted(), 0)
    },
  },
  {
    name: 'never ends an undo that has begun, and tells why a period ended',
    async run(catalogue) {
      const { bulk } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') }), record('r3', { dag: dagOf('c') })])
      const [first, second, third] = [
        await added(catalogue, ['r1']),
        await added(catalogue, ['r2']),
        await added(catalogue, ['r3']),
      ]
      for (const change of [first, second]) await removeAll(catalogue, change)
      await bulk.undo({ accountId: 'one', name: first.name, limits: NO_LIMITS, now: NOW })
      assert.equal((await bulk.endForRoom({ backends: [0] }))?.name, second.name)
      assert.equal(await bulk.endForRoom({ backends: [0] }), null)
      const { undoMs, undoEnded } = await read(catalogue, second)
      assert.deepEqual([undoMs, undoEnded], [0, 'disk'])
      const again = { accountId: 'one', name: second.name, limits: NO_LIMITS, now: NOW }
      await assert.rejects(bulk.undo(again), isCode('CONFLICT'))
      const owner = { accountId: null, why: 'owner' as const, limit: 10 }
      assert.deepEqual(
        (await bulk.endPeriods(owner)).map(({ name }) => name),
        [third.name],
      )
      await removeAll(catalogue, third)
      assert.equal(await catalogue.records.get('r3'), undefined)
      assert.deepEqual(await bulk.removed(third.id, '', 10), [])
      assert.deepEqual(await bulk.endPeriods({ ...owner, accountId: 'one' }), [])
      const ofAccount = { accountId: 'one', why: 'account' as const, limit: 10 }
      assert.deepEqual(
        (await bulk.endPeriods(ofAccount)).map(({ name }) => name),
        [first.name],
      )
      const theirs = ['r4', 'r5'].map(id => record(id, { accountId: 'two', dag: dagOf(id) }))
      await commit(catalogue, theirs)
      const older = await added(catalogue, ['r4'], UNDO_MS, 'two')
      for (const change of [older, await added(catalogue, ['r5'], UNDO_MS, 'two')]) await removeAll(catalogue, change)
      await bulk.undo({ accountId: 'two', name: older.name, limits: NO_LIMITS, now: NOW })
      assert.equal(await bulk.endExcess({ accountId: 'two', most: 0, now: NOW }), null)
    },
  },
  {
    name: 'removes the selected live records of the account, and counts the others as failures',
    async run(catalogue) {
      const { bulk, records } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') }), record('r3', { dag: dagOf('c') })])
      await commit(catalogue, [record('late', { expiresAt: NOW }), record('theirs', { accountId: 'two' })])
      const change = await added(catalogue, ['r1', 'r2', 'theirs', 'late', 'none'])
      const rows = await removeAll(catalogue, change)
      assert.deepEqual(ids(rows).toSorted(), ['r1', 'r2'])
      assert.equal(await records.get('r1'), undefined)
      assert.deepEqual(ids((await records.page(listOf('one'), 0, 10)).rows), ['r3'])
      assert.equal((await records.usage('one', NOW)).pins, 1)
      assert.notEqual(await records.get('theirs'), undefined)
      const ended = await read(catalogue, change)
      const { phase, done, failed, endedAt, total, selection } = ended
      assert.deepEqual([phase, done, failed, endedAt, total, selection], ['done', 2, 3, NOW, 5, ''])
      const failures = JSON.parse(ended.failures) as unknown[]
      assert.deepEqual(failures[0], { uploadId: 'theirs', code: 'NOT_FOUND' })
      assert.equal(await bulk.get('two', change.name), undefined)
      const later = await added(catalogue, ['r3'])
      assert.deepEqual(
        (await bulk.list('one')).map(({ name }) => name),
        [later.name, change.name],
      )
      assert.deepEqual(await bulk.list('two'), [])
      const newest = await bulk.recent({ after: null, limit: 1 })
      assert.deepEqual(
        newest.rows.map(({ name }) => name),
        [later.name],
      )
      const rest = await bulk.recent({ after: newest.next, limit: 1 })
      assert.deepEqual([rest.rows.map(({ name }) => name), rest.next], [[change.name], null])
      const found = { place: '', next: null, ids: ['r3', 'none'], now: NOW, isListed: false }
      await bulk.remove({ ...found, id: later.id })
      assert.deepEqual([(await read(catalogue, later)).done, (await read(catalogue, later)).failed], [1, 0])
    },
  },
  {
    name: 'restores removed records with all their fields, counted as before',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [
        record('r1', { meta: '{"a":"b"}', customName: 'own', createdAt: 5, expiresAt: NOW + 500 }),
        record('r2', { clusterId: 'far', originalName: 'first', createdAt: 7 }),
        record('r3', { dag: dagOf('c'), createdAt: 6 }),
      ])
      const before = await shown(catalogue)
      const ofContent = async () => (await records.page({ ...listOf('one'), multihash: DAG.multihash }, 0, 1)).total
      assert.equal(await ofContent(), 2)
      const change = await added(catalogue, ['r1', 'r2', 'r3'])
      await removeAll(catalogue, change)
      assert.equal(await ofContent(), 0)
      assert.equal((await records.usage('one', NOW)).storedBytes, 0)
      assert.equal((await read(catalogue, change)).freedBytes, 1024)
      assert.deepEqual(ids(await restoreAll(catalogue, change)).toSorted(), ['r1', 'r2', 'r3'])
      assert.deepEqual([await shown(catalogue), await ofContent()], [before, 2])
      const { phase, restored, freedBytes } = await read(catalogue, change)
      assert.deepEqual([phase, restored, freedBytes], ['undone', 3, 0])
      const again = { accountId: 'one', name: change.name, limits: NO_LIMITS, now: NOW }
      assert.equal((await catalogue.bulk.undo(again)).phase, 'undone')
      assert.deepEqual(await catalogue.bulk.removed(change.id, '', 10), [])
      const search = { ...ANY_SEARCH, meta: { a: 'b' } }
      const found = await records.page({ ...listOf('one'), search }, 0, 10)
      assert.deepEqual(ids(found.rows), ['r1'])
    },
  },
  {
    name: 'keeps removed content until the undo period ends, and releases it then',
    async run(catalogue) {
      const { bulk } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') })])
      const change = await added(catalogue, ['r1', 'r2'])
      await removeAll(catalogue, change)
      assert.equal(await bulk.purge(change.id, NOW + UNDO_MS - 1), false)
      assert.equal(await hasContent(catalogue, DAG), true)
      assert.equal(await bulk.purge(change.id, NOW + UNDO_MS), true)
      assert.deepEqual(await bulk.removed(change.id, '', 10), [])
      assert.equal(await hasContent(catalogue, DAG), false)
      assert.equal(await hasContent(catalogue, dagOf('b')), false)
    },
  },
  {
    name: 'removes content at once without an undo period',
    async run(catalogue) {
      await commit(catalogue, [record('r1')])
      const change = await added(catalogue, ['r1'], 0)
      await removeAll(catalogue, change)
      assert.equal(await hasContent(catalogue, DAG), false)
      const undo = catalogue.bulk.undo({ accountId: 'one', name: change.name, limits: NO_LIMITS, now: NOW })
      await assert.rejects(undo, isCode('CONFLICT'))
    },
  },
  {
    name: 'refuses an undo after its period, over the quota, or of another account',
    async run(catalogue) {
      const { bulk } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b') })])
      const { name, ...change } = await added(catalogue, ['r1', 'r2'])
      await removeAll(catalogue, { ...change, name })
      await commit(catalogue, [record('r3', { dag: dagOf('c') })])
      const undo = (limits: Partial<PinLimits>, now = NOW, accountId = 'one') =>
        bulk.undo({ accountId, name, limits: { ...NO_LIMITS, ...limits }, now })
      await assert.rejects(undo({ maxPins: 2 }), isCode('QUOTA_EXCEEDED'))
      await assert.rejects(undo({ maxStorageBytes: 1_535 }), isCode('QUOTA_EXCEEDED'))
      await assert.rejects(undo({}, NOW, 'two'), isCode('NOT_FOUND'))
      await assert.rejects(undo({}, NOW + UNDO_MS), isCode('CONFLICT'))
      assert.equal((await undo({ maxPins: 3, maxStorageBytes: 1_536 })).phase, 'undoing')
      assert.equal((await undo({})).phase, 'undoing')
    },
  },
  {
    name: 'restores neither expired records nor more than the plan allows',
    async run(catalogue) {
      const { bulk, records } = catalogue
      const some = ['a', 'b', 'c'].map(name => record(`r-${name}`, { dag: dagOf(name) }))
      await commit(catalogue, [...some, record('r-late', { expiresAt: NOW + 1 })])
      const change = await added(catalogue, ['r-a', 'r-b', 'r-c', 'r-late'])
      await removeAll(catalogue, change)
      await bulk.undo({ accountId: 'one', name: change.name, limits: NO_LIMITS, now: NOW })
      const step = { id: change.id, place: '', next: null, ids: ['r-a', 'r-b', 'r-c', 'r-late'], now: NOW + 1 }
      const rows = await bulk.restore({ ...step, limits: { ...NO_LIMITS, maxPins: 2 } })
      assert.deepEqual(ids(rows ?? []), ['r-a', 'r-b'])
      assert.equal((await records.usage('one', NOW + 1)).pins, 2)
      const { failed, failures } = await read(catalogue, change)
      assert.equal(failed, 2)
      const codes = (JSON.parse(failures) as Array<{ uploadId: string; code: string }>).map(({ code }) => code)
      assert.deepEqual(codes, ['QUOTA_EXCEEDED', 'EXPIRED'])
      assert.equal(await bulk.purge(change.id, NOW + 1 + UNDO_MS), true)
      assert.equal(await hasContent(catalogue, dagOf('c')), false)
      assert.equal(await hasContent(catalogue, dagOf('b')), true)
    },
  },
  {
    name: 'carries out no step of another place or phase',
    async run(catalogue) {
      const { bulk } = catalogue
      await commit(catalogue, [record('r1'), record('r2'), record('r3')])
      await removeAll(catalogue, await added(catalogue, ['r3']))
      const { id, name } = await added(catalogue, ['r1', 'r2'])
      const step = { id, place: '', next: '1', ids: ['r1'], now: NOW, isListed: true }
      assert.equal((await bulk.remove(step))?.length, 1)
      assert.equal(await bulk.remove(step), null)
      assert.equal(await bulk.restore({ ...step, place: '1', limits: NO_LIMITS }), null)
      await bulk.undo({ accountId: 'one', name, limits: NO_LIMITS, now: NOW })
      assert.equal(await bulk.remove({ ...step, place: '1', ids: ['r2'] }), null)
      assert.notEqual(await catalogue.records.get('r2'), undefined)
      const restored = await bulk.restore({ ...step, ids: ['r1', 'r3'], next: null, limits: NO_LIMITS })
      assert.deepEqual(ids(restored ?? []), ['r1'])
    },
  },
  {
    name: 'restores a record without content as failed, unless it was requested again',
    async run(catalogue) {
      const { bulk, records, fetches } = catalogue
      const made = [record('r1', { type: 'pin' }), record('r2', { type: 'pin', dag: dagOf('b') })]
      for (const one of made) await request(catalogue, one)
      const change = await added(catalogue, ['r1', 'r2'])
      for (const { fetchId } of await removeAll(catalogue, change)) await fetches.dropIfUnneeded(fetchId ?? 0)
      await bulk.undo({ accountId: 'one', name: change.name, limits: NO_LIMITS, now: NOW })
      await request(catalogue, made[0] ?? record('r1'))
      const step = { id: change.id, place: '', next: null, ids: ['r1', 'r2'], now: NOW + 3 }
      assert.deepEqual(ids((await bulk.restore({ ...step, limits: NO_LIMITS })) ?? []), ['r2'])
      const [queued, failed] = [await records.get('r1'), await records.get('r2')]
      assert.deepEqual([queued?.status, failed?.status, failed?.fetchId], ['queued', 'failed', null])
      assert.equal((await read(catalogue, change)).restored, 2)
      assert.equal((await records.usage('one', NOW)).pins, 2)
    },
  },
  {
    name: 'shows a job as due until its change is forgotten, an hour after its end',
    async run(catalogue) {
      const { bulk } = catalogue
      await commit(catalogue, [record('r1')])
      const change = await added(catalogue, ['r1'])
      assert.deepEqual([await bulk.nextDue(), await dueAt(catalogue, NOW)], [NOW, [change.id]])
      assert.equal((await bulk.begin(change.id))?.attempts, 1)
      await bulk.retry(change.id, NOW + 9, 'not now')
      assert.deepEqual([await bulk.nextDue(), await dueAt(catalogue, NOW)], [NOW + 9, []])
      assert.equal((await bulk.begin(change.id))?.attempts, 2)
      await bulk.pause(change, NOW + 5)
      assert.equal((await bulk.begin(change.id))?.attempts, 1)
      await removeAll(catalogue, change)
      assert.equal(await bulk.nextDue(), NOW + UNDO_MS)
      await bulk.pause(change, NOW)
      assert.equal(await bulk.purge(change.id, NOW), false)
      assert.equal(await bulk.nextDue(), NOW + UNDO_MS)
      while (await bulk.purge(change.id, NOW + UNDO_MS));
      assert.equal(await bulk.nextDue(), NOW + CHANGE_KEPT_MS)
      assert.notEqual(await bulk.get('one', change.name), undefined)
      assert.equal(await bulk.purge(change.id, NOW + CHANGE_KEPT_MS), false)
      assert.deepEqual([await bulk.get('one', change.name), await bulk.nextDue()], [undefined, null])
      assert.equal(await bulk.begin(change.id), undefined)
    },
  },
  {
    name: 'limits the changes of an account, which must exist',
    async run(catalogue) {
      await Promise.all(Array.from({ length: MOST_CHANGES }, () => added(catalogue, ['r1'])))
      await assert.rejects(added(catalogue, ['r1']), isCode('QUOTA_EXCEEDED'))
      await assert.rejects(added(catalogue, ['r1'], UNDO_MS, 'nobody'), isCode('NOT_FOUND'))
      await added(catalogue, ['r1'], UNDO_MS, 'two')
    },
  },
  ...editRules,
]

let made = 0

async function added({ bulk }: ContentCatalogue, selected: string[], undoMs = UNDO_MS, accountId = 'one') {
  const name = `job${made++}`
  const change = { name, accountId, action: 'delete' as const, selection: JSON.stringify(selected), undoMs }
  return bulk.add({ ...change, total: selected.length, createdAt: NOW })
}

async function removeAll({ bulk }: ContentCatalogue, { id, selection }: BulkChange): Promise<RecordRow[]> {
  const selected = JSON.parse(selection) as string[]
  return (await bulk.remove({ id, place: '', next: null, ids: selected, now: NOW, isListed: true })) ?? []
}

async function restoreAll({ bulk }: ContentCatalogue, { id, name }: BulkChange): Promise<RecordRow[]> {
  await bulk.undo({ accountId: 'one', name, limits: NO_LIMITS, now: NOW })
  const found = ids(await bulk.removed(id, '', 50))
  return (await bulk.restore({ id, place: '', next: null, ids: found, now: NOW, limits: NO_LIMITS })) ?? []
}

async function read({ bulk }: ContentCatalogue, { accountId, name }: BulkChange): Promise<BulkChange> {
  const found = await bulk.get(accountId, name)
  assert.notEqual(found, undefined)
  return found as BulkChange
}

async function shown({ records }: ContentCatalogue): Promise<unknown> {
  const { rows, total } = await records.page(listOf('one'), 0, 10)
  const all = await Promise.all(rows.map(({ id }) => records.get(id)))
  return plain([rows, total, all, await records.usage('one', NOW)])
}

/** Returns whether a record can get the content without staging it again. */
async function hasContent(catalogue: ContentCatalogue, dag: typeof DAG): Promise<boolean> {
  const one = record('again', { dag })
  const intent = { record: one, backendId: 0, limits: NO_LIMITS, now: NOW, stagedRootId: null }
  try {
    await catalogue.records.commit([{ kind: 'whole', ...intent, dag: { ...dag, ...SIZES } }])
    await catalogue.records.discard('again')
    return true
  } catch (error) {
    assert.ok(isCode('CID_NOT_FOUND')(error))
    return false
  }
}

async function dueAt({ bulk }: ContentCatalogue, now: number): Promise<number[]> {
  const { jobs } = await bulk.due({ now, after: '', accounts: 9, each: 9 })
  return jobs.map(({ id }) => id)
}
