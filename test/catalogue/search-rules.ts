import assert from 'node:assert/strict'
import type { NameMatch, RecordSearch } from '../../src/catalogue/index.ts'
import { ANY_SEARCH, type ContentRule, commit, dagOf, NOW, record, request } from './content-support.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

const OWN = 77
async function found(
  { records }: ContentCatalogue,
  search: Partial<RecordSearch>,
  more: { accountId?: string; now?: number; hasExpiration?: boolean; offset?: number; limit?: number } = {},
): Promise<[ids: string[], total: number]> {
  const { accountId = 'one', now = NOW, hasExpiration = false, offset = 0, limit = 100 } = more
  const filter = { accountId, multihash: null, hasExpiration, now, search: { ...ANY_SEARCH, ...search } }
  const { rows, total } = await records.page(filter, offset, limit)
  return [rows.map(({ id }) => id), total]
}

function called(text: string, match: NameMatch): Partial<RecordSearch> {
  return { names: [{ text, match }] }
}

/** Commits one record per name, the first one the oldest. */
async function named(catalogue: ContentCatalogue, names: readonly string[]): Promise<void> {
  const made = names.map((name, i) => record(`r${i}`, { name, createdAt: i, dag: dagOf(`${i}`) }))
  await commit(catalogue, made)
}

/** Tests of searches that every catalogue must pass. */
export const searchRules: ContentRule[] = [
  {
    name: 'finds names in whole and in part, with and without case',
    async run(catalogue) {
      await named(catalogue, [
        'Holiday.jpg',
        'holiday.JPG',
        'my holiday',
        'day',
        'Grüße aus KÖLN',
        'a"b* OR %_c',
        '猫の写真',
      ])
      await commit(catalogue, [record('theirs', { accountId: 'two', name: 'Holiday.jpg' })])
      const looked = async (text: string, match: NameMatch) =>
        (await found(catalogue, called(text, match)))[0].join(' ')
      assert.equal(await looked('Holiday.jpg', 'exact'), 'r0')
      assert.equal(await looked('HOLIDAY.JPG', 'iexact'), 'r1 r0')
      assert.equal(await looked('holiday', 'partial'), 'r2 r1')
      assert.equal(await looked('hOLiday', 'ipartial'), 'r2 r1 r0')
      assert.equal(await looked('Ho', 'partial'), 'r0')
      assert.equal(await looked('dayholi', 'ipartial'), '')
      assert.equal(await looked('Y', 'ipartial'), 'r3 r2 r1 r0')
      assert.equal(await looked('grüsse', 'ipartial'), '')
      assert.equal(await looked('GRÜ', 'ipartial'), 'r4')
      assert.equal(await looked('köln', 'ipartial'), 'r4')
      assert.equal(await looked('"b* OR %', 'ipartial'), 'r5')
      assert.equal(await looked('%', 'ipartial'), 'r5')
      assert.equal(await looked('写真', 'ipartial'), 'r6')
      assert.equal(await looked('Holiday', 'exact'), '')
    },
  },
  {
    name: 'pages search results without gaps, and returns their total',
    async run(catalogue) {
      await named(
        catalogue,
        Array.from({ length: 9 }, (_, i) => (i % 3 === 0 ? `no ${i}` : `number ${i}`)),
      )
      const numbers = called('number', 'ipartial')
      const pages = await Promise.all([0, 4, 8].map(offset => found(catalogue, numbers, { offset, limit: 4 })))
      assert.deepEqual(pages, [
        [['r8', 'r7', 'r5', 'r4'], 6],
        [['r2', 'r1'], 6],
        [[], 6],
      ])
      assert.deepEqual((await found(catalogue, { oldestFirst: true }, { limit: 2 }))[0], ['r0', 'r1'])
      for (const oldestFirst of [false, true]) {
        const search = { ...ANY_SEARCH, ...numbers, oldestFirst }
        const filter = { accountId: 'one', multihash: null, hasExpiration: false, now: NOW, search }
        const walked: string[] = []
        for (let after: string | null = null, more = true; more; ) {
          const page = await catalogue.records.walk(filter, { after, limit: 4 })
          walked.push(...page.rows.map(({ id }) => id))
          after = page.next
          more = after !== null
        }
        const newest = ['r8', 'r7', 'r5', 'r4', 'r2', 'r1']
        assert.deepEqual(walked, oldestFirst ? newest.toReversed() : newest)
      }
    },
  },
  {
    name: 'finds records by type, status, content, time and meta, combined',
    async run(catalogue) {
      await commit(catalogue, [
        record('file', { createdAt: 10, dag: dagOf('1'), meta: '{"app":"x","n":"1"}' }),
        record('tree', { createdAt: 20, dag: dagOf('2'), type: 'directory', meta: '{"app":"x"}' }),
        record('ends', { createdAt: 30, dag: dagOf('3'), expiresAt: NOW + 5 }),
      ])
      await request(catalogue, record('waits', { createdAt: 40, dag: dagOf('4'), type: 'pin' }))
      const looked = async (search: Partial<RecordSearch>) => (await found(catalogue, search))[0].join(' ')
      assert.equal(await looked({ types: ['file', 'pin'] }), 'waits ends file')
      assert.equal(await looked({ statuses: ['queued'] }), 'waits')
      assert.equal(await looked({ multihashes: [dagOf('1').multihash, dagOf('4').multihash] }), 'waits file')
      assert.equal(await looked({ before: 30 }), 'tree file')
      assert.equal(await looked({ after: 10, before: 40 }), 'ends tree')
      assert.equal(await looked({ after: 40 }), '')
      assert.equal(await looked({ meta: { app: 'x' } }), 'tree file')
      assert.equal(await looked({ meta: { app: 'x', n: '1' } }), 'file')
      assert.equal(await looked({ meta: { app: '1' } }), '')
      assert.equal(await looked({ types: ['file'], before: 30, meta: { app: 'x' } }), 'file')
      assert.deepEqual(await found(catalogue, {}, { hasExpiration: true }), [['ends'], 1])
      assert.deepEqual(await found(catalogue, { types: ['file'] }, { now: NOW + 5 }), [['file'], 1])
    },
  },
  {
    name: 'finds public and private records, also after a change',
    async run(catalogue) {
      await commit(catalogue, [record('open', { name: 'one', createdAt: 10 })])
      await commit(catalogue, [record('closed', { name: 'two', createdAt: 20, owner: OWN })])
      const looked = async (search: Partial<RecordSearch>) => (await found(catalogue, search))[0].join(' ')
      const all = async (more: Partial<RecordSearch> = {}) =>
        [await looked({ visibility: 'public', ...more }), await looked({ visibility: 'private', ...more })].join(', ')
      assert.equal(await all(), 'open, closed')
      assert.deepEqual(await found(catalogue, { visibility: 'private' }), [['closed'], 1])
      assert.equal(await all(called('two', 'exact')), ', closed')
      assert.equal(await looked({ visibility: 'private', statuses: ['pinned'] }), 'closed')
      await catalogue.records.setOwner({ accountId: 'one', id: 'open', owner: OWN, now: NOW })
      const [both, total] = await found(catalogue, { visibility: 'private' })
      assert.deepEqual([both.toSorted(), total], [['closed', 'open'], 2])
      await catalogue.records.setOwner({ accountId: 'one', id: 'closed', owner: 0, now: NOW })
      assert.equal(await all(), 'closed, open')
    },
  },
  {
    name: 'finds records by time after the clock was set back',
    async run(catalogue) {
      await commit(catalogue, [record('late', { createdAt: 50 }), record('early', { createdAt: 10, dag: dagOf('2') })])
      await commit(catalogue, [record('mid', { createdAt: 30, dag: dagOf('3') })])
      const looked = async (search: Partial<RecordSearch>) => (await found(catalogue, search))[0].toSorted().join(' ')
      assert.equal(await looked({ before: 40 }), 'early mid')
      assert.equal(await looked({ after: 20 }), 'late mid')
      assert.equal(await looked({ after: 20, before: 40 }), 'mid')
    },
  },
  {
    name: 'finds changed records by their new values, and no removed ones',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1', { name: 'before' }), record('r2', { name: 'other', dag: dagOf('2') })])
      const change = { accountId: 'one', id: 'r1', now: NOW }
      await records.rename({ ...change, name: 'afterwards', meta: '{"k":"v"}' })
      assert.deepEqual((await found(catalogue, called('before', 'ipartial')))[0], [])
      assert.deepEqual((await found(catalogue, called('after', 'ipartial')))[0], ['r1'])
      await records.rename({ ...change, name: undefined, meta: null })
      assert.deepEqual((await found(catalogue, { meta: { k: 'v' } }))[0], [])
      assert.equal((await records.get('r1'))?.name, 'afterwards')
      const waiting = await request(catalogue, record('r3', { name: 'waits', dag: dagOf('3'), type: 'pin' }))
      await catalogue.fetches.start(waiting.fetchId ?? 0, NOW)
      assert.deepEqual((await found(catalogue, { statuses: ['queued'] }))[0], [])
      assert.deepEqual((await found(catalogue, { statuses: ['pinning'] }))[0], ['r3'])
      await records.discard('r1')
      assert.deepEqual((await found(catalogue, called('after', 'ipartial')))[0], [])
      assert.equal((await found(catalogue, {}))[1], 2)
    },
  },
]
