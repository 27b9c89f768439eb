import assert from 'node:assert/strict'
import type { BulkEdit } from '../../src/catalogue/index.ts'
import { ANY_SEARCH, type ContentRule, commit, dagOf, ids, listOf, NO_LIMITS, NOW, record } from './content-support.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

const RENAME = { find: '', replace: '', prefix: '', suffix: '' }
const expiring = { ...listOf('one'), hasExpiration: true }

/** Tests of edits of many records that every catalogue must pass. */
export const editRules: readonly ContentRule[] = [
  {
    name: 'renames many records, and finds them by their new names',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b'), name: null, cid: 'cidtwo' })])
      await commit(catalogue, [record('long', { name: 'a'.repeat(250) }), record('theirs', { accountId: 'two' })])
      // Over the limit in code units, but not in characters.
      await commit(catalogue, [record('wide', { name: '😀'.repeat(200) })])
      const selected = ['r1', 'r2', 'long', 'theirs', 'none', 'wide']
      const { edited, failures } = await edit(catalogue, selected, {
        rename: { find: 'r', replace: 'report ', prefix: 'new ', suffix: '.txt' },
      })
      assert.deepEqual(ids(edited).toSorted(), ['r1', 'r2', 'wide'])
      const named = async (id: string) => [(await records.get(id))?.name, (await records.get(id))?.customName]
      assert.deepEqual(await named('r1'), ['new report 1.txt', 'new report 1.txt'])
      assert.deepEqual(await named('r2'), ['new cidtwo.txt', 'new cidtwo.txt'])
      assert.equal((await named('wide'))[0], `new ${'😀'.repeat(200)}.txt`)
      assert.deepEqual(await named('theirs'), ['theirs', null])
      assert.deepEqual(new Map(failures.map(({ uploadId, code }) => [uploadId, code])), FAILURES)
      const names = [{ text: 'report', match: 'ipartial' as const }]
      const search = { ...ANY_SEARCH, names }
      const found = await records.page({ ...listOf('one'), search }, 0, 10)
      assert.deepEqual(ids(found.rows), ['r1'])
      const none = await edit(catalogue, ['r1'], { rename: { ...RENAME, find: 'absent' } })
      assert.deepEqual([none.edited, none.done], [[], 1])
    },
  },
  {
    name: 'changes the expiry of many records, in lists and in the usage',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [
        record('r1', { createdAt: 5 }),
        record('r2', { dag: dagOf('b'), createdAt: 6, expiresAt: NOW + 500 }),
        record('r3', { dag: dagOf('c'), createdAt: 7 }),
      ])
      const shown = async () => {
        const { rows, total } = await records.page(expiring, 0, 10)
        return [ids(rows), total, (await records.usage('one', NOW)).expiringPins, await records.nextExpiry()]
      }
      assert.deepEqual(await shown(), [['r2'], 1, 1, NOW + 500])
      await edit(catalogue, ['r1', 'r2'], { expiresAt: NOW + 100 })
      assert.deepEqual(await shown(), [['r2', 'r1'], 2, 2, NOW + 100])
      assert.equal((await records.get('r1'))?.expiresAt, NOW + 100)
      await edit(catalogue, ['r1', 'r2', 'r3'], { expiresAt: null })
      assert.deepEqual(await shown(), [[], 0, 0, null])
      await edit(catalogue, ['r3'], { expiresAt: NOW + 1 })
      assert.deepEqual(ids(await records.expire(NOW + 1, 10)), ['r3'])
      assert.deepEqual((await records.usage('one', NOW + 1)).pins, 2)
    },
  },
  {
    name: 'moves many records to another cluster, from the given clusters only',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1'), record('r2', { dag: dagOf('b'), clusterId: 'far' })])
      const moved = await edit(catalogue, ['r1', 'r2'], { cluster: { to: 'close', from: ['near', 'close'] } })
      assert.deepEqual([ids(moved.edited), moved.failures], [['r1'], [{ uploadId: 'r2', code: 'CLUSTER_NOT_ALLOWED' }]])
      assert.equal((await records.get('r1'))?.clusterId, 'close')
      // An identical request repeats the record under its new cluster.
      const [again] = await commit(catalogue, [record('again', { name: 'r1', clusterId: 'close' })])
      assert.deepEqual([again?.created, again?.record.id], [false, 'r1'])
    },
  },
  {
    name: 'edits the records of a step once, and undoes no edit',
    async run(catalogue) {
      const { bulk, records } = catalogue
      await commit(catalogue, [record('r1'), record('r2')])
      const change = await added(catalogue, ['r1', 'r2'])
      const step = { id: change.id, now: NOW, edit: { rename: { ...RENAME, prefix: 'x' } }, isListed: true }
      assert.deepEqual(ids((await bulk.edit({ ...step, place: '', next: '1', ids: ['r1'] })) ?? []), ['r1'])
      assert.equal(await bulk.edit({ ...step, place: '', next: '1', ids: ['r1'] }), null)
      await bulk.edit({ ...step, place: '1', next: null, ids: ['r2'] })
      assert.equal((await records.get('r1'))?.name, 'xr1')
      const ended = await bulk.get('one', change.name)
      assert.deepEqual([ended?.phase, ended?.done, ended?.failed], ['done', 2, 0])
      const undone = bulk.undo({ accountId: 'one', name: change.name, limits: NO_LIMITS, now: NOW })
      await assert.rejects(undone, { code: 'CONFLICT' })
    },
  },
]

const FAILURES = new Map([
  ['long', 'VALIDATION'],
  ['none', 'NOT_FOUND'],
  ['theirs', 'NOT_FOUND'],
])
let made = 0

async function added({ bulk }: ContentCatalogue, selected: string[]) {
  const change = { name: `edit${made++}`, accountId: 'one', action: 'rename' as const, selection: '{}', undoMs: 0 }
  return bulk.add({ ...change, total: selected.length, createdAt: NOW })
}

async function edit(catalogue: ContentCatalogue, selected: string[], how: BulkEdit) {
  const { bulk } = catalogue
  const { id, name } = await added(catalogue, selected)
  const step = { id, place: '', next: null, ids: selected, now: NOW, isListed: true }
  const edited = (await bulk.edit({ ...step, edit: how })) ?? []
  const ended = await bulk.get('one', name)
  const failures = JSON.parse(ended?.failures ?? '[]') as Array<{ uploadId: string; code: string }>
  return { edited, failures, done: ended?.done }
}
