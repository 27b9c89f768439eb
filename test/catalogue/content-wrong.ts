import type { RecordFilter, RecordSearch } from '../../src/catalogue/index.ts'
import { wrongBulk } from './bulk-wrong.ts'
import { wrongEgress } from './egress-rules.ts'
import { wrongFeatures } from './feature-rules.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'
import { wrongPlacements } from './placements-wrong.ts'
import { wrongReconciliations } from './reconciliation-wrong.ts'
import { wrongVisibility } from './visibility-rules.ts'

export type Broken = (right: ContentCatalogue) => Partial<ContentCatalogue>
export type WrongCatalogue = [what: string, broken: Broken, rules: RegExp[]]

/** Catalogues with one fault each, and the rules that must detect it. */
export const wrongCatalogues: readonly WrongCatalogue[] = [
  ...wrongPlacements,
  ...wrongReconciliations,
  ...wrongVisibility,
  ...wrongFeatures,
  ...wrongBulk,
  ...wrongEgress,
  [
    'acknowledges a commit without storing it',
    ({ records, stage }) => ({
      records: {
        ...records,
        commit: async intents => {
          const made = await records.commit(intents)
          for (const { record, created } of made) if (created) await records.discard(record.id)
          await stage(0)
          return made
        },
      },
    }),
    [/^returns a committed/, /^removes exactly the/],
  ],
  [
    'commits records in separate transactions',
    ({ records }) => ({
      records: {
        ...records,
        commit: async intents => {
          const made = []
          for (const intent of intents) made.push(...(await records.commit([intent])))
          return made
        },
      },
    }),
    [/^commits several records/],
  ],
  [
    'takes content beyond the quota',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents =>
          records.commit(intents.map(one => ({ ...one, limits: { ...one.limits, maxStorageBytes: null } }))),
      },
    }),
    [/^enforces the storage/, /^counts the bytes of content/],
  ],
  [
    'creates a second record for an identical request',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents =>
          records.commit(intents.map(one => ({ ...one, record: { ...one.record, originalName: one.record.id } }))),
      },
    }),
    [/^returns a committed/, /^fulfils a waiting/],
  ],
  [
    'returns the existing record to a request for a new one',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents => records.commit(intents.map(one => ({ ...one, isAnew: false }))),
      },
    }),
    [/^commits a second/],
  ],
  [
    'removes only a part of a long removal',
    ({ records }) => ({
      records: {
        ...records,
        remove: async request => {
          const rows = await records.ofDag({ ...request, limit: 50 })
          for (const { id } of rows) await records.discard(id)
          return rows
        },
      },
    }),
    [/^removes exactly the/],
  ],
  [
    'ignores the cluster of a removal',
    ({ records }) => ({
      records: { ...records, remove: request => records.remove({ ...request, clusterId: null }) },
    }),
    [/^removes exactly the/],
  ],
  [
    'keeps newer records in a removal',
    ({ records }) => ({
      records: {
        ...records,
        remove: async request => {
          const rows = await records.ofDag({ ...request, limit: 1_000 })
          return records.discardAll(rows.flatMap(({ id, createdAt }) => (createdAt <= request.now ? id : [])))
        },
      },
    }),
    [/^removes the records of a node/],
  ],
  [
    'returns removed records twice',
    ({ records }) => {
      let last: Awaited<ReturnType<typeof records.remove>> = []
      const remove: typeof records.remove = async request => {
        const rows = await records.remove(request)
        last = rows.length > 0 ? rows : last
        return last
      }
      return { records: { ...records, remove } }
    },
    [/^removes exactly the/],
  ],
  [
    'lists expired records until they are removed',
    ({ records }) => ({
      records: { ...records, page: (filter, ...rest) => records.page({ ...filter, now: 0 }, ...rest) },
    }),
    [/^hides expired records/],
  ],
  [
    'delivers to a record twice',
    ({ fetches }) => {
      let last: Awaited<ReturnType<typeof fetches.deliver>> | null = null
      const deliver: typeof fetches.deliver = async (...request) => {
        const made = await fetches.deliver(...request)
        last = made.changes.length > 0 || last === null ? made : last
        return last
      }
      return { fetches: { ...fetches, deliver } }
    },
    [/^shares one fetch/],
  ],
  [
    'delivers without checking limits',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        deliver: (id, limits, now) => {
          const none = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
          return fetches.deliver(id, new Map([...limits.keys()].map(account => [account, none])), now)
        },
      },
    }),
    [/^fails records over/],
  ],
  [
    'removes a fetch that a record waits for',
    ({ fetches }) => ({ fetches: { ...fetches, dropIfUnneeded: async () => true } }),
    [/^removes a fetch/],
  ],
  [
    'loses the time of the next attempt',
    ({ fetches }) => ({
      fetches: { ...fetches, fail: (id, failure, now) => fetches.fail(id, { ...failure, retryAt: null }, now) },
    }),
    [/^retries a failed/],
  ],
  [
    'loses the code of a failure',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        fail: (id, failure, now) =>
          fetches.fail(id, { ...failure, reason: { code: null, text: failure.reason.text } }, now),
      },
    }),
    [/^retries a failed/],
  ],
  [
    'counts storage for each record',
    ({ records }) => ({
      records: {
        ...records,
        usage: async (accountId, now) => {
          const { pins, ...usage } = await records.usage(accountId, now)
          return { ...usage, pins, storedBytes: 512 * pins }
        },
      },
    }),
    [/^enforces the storage/],
  ],
  [
    'skips the first row of each page',
    ({ records }) => ({
      records: { ...records, page: (filter, offset, limit) => records.page(filter, offset && offset + 1, limit) },
    }),
    [/^lists records newest/],
  ],
  [
    'uses an offset as the cursor of a walk',
    ({ records }) => ({
      records: {
        ...records,
        walk: async (filter, { after, limit }) => {
          const { rows, total } = await records.page(filter, Number(after), limit)
          const next = Number(after) + rows.length
          return { rows, next: next < total ? String(next) : null }
        },
      },
    }),
    [/^walks over each/],
  ],
  [
    'ignores case in an exact match',
    ({ records }) => searching(records, search => ({ ...search, names: search.names.map(ignoringCase) })),
    [/^finds names in/],
  ],
  [
    'returns the length of a page as the total',
    ({ records }) => ({
      records: {
        ...records,
        page: async (filter, ...rest) => {
          const { rows, total } = await records.page(filter, ...rest)
          return { rows, total: filter.search === undefined ? total : rows.length }
        },
      },
    }),
    [/^pages search results/],
  ],
  [
    'includes records at the exact time bound',
    ({ records }) => searching(records, search => ({ ...search, before: search.before && search.before + 1 })),
    [/^finds records by type/],
  ],
  [
    'assumes that insertion order is time order',
    ({ records }) => ({
      records: {
        ...records,
        page: async (filter, ...rest) => {
          const { rows, total } = await records.page(filter, ...rest)
          const isEarlier = filter.search?.before != null && rows.some(({ createdAt }) => createdAt === 10)
          return isEarlier && total === 2 ? { rows: rows.slice(1), total: 1 } : { rows, total }
        },
      },
    }),
    [/^finds records by time/],
  ],
  [
    'finds a record by its former name',
    ({ records }) => ({
      records: {
        ...records,
        rename: async request => {
          const row = await records.get(request.id)
          return (await records.rename({ ...request, name: undefined })) && row !== undefined
        },
      },
    }),
    [/^finds changed records/],
  ],
  [
    'lets every account rename a record',
    ({ records }) => ({
      records: {
        ...records,
        rename: async ({ id, ...request }) =>
          records.rename({ ...request, id, accountId: (await records.get(id))?.accountId ?? '' }),
      },
    }),
    [/^lets only the/],
  ],
  [
    'lets any number of records wait',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        request: request => fetches.request({ ...request, limits: { ...request.limits, maxQueuedPins: null } }),
      },
    }),
    [/^limits waiting records/],
  ],
]

type Records = ContentCatalogue['records']

/** Returns records that change the conditions of a search. */
function searching(records: Records, change: (search: RecordSearch) => RecordSearch): { records: Records } {
  const changed = (filter: RecordFilter): RecordFilter =>
    filter.search === undefined ? filter : { ...filter, search: change(filter.search) }
  return {
    records: {
      ...records,
      page: (filter, ...rest) => records.page(changed(filter), ...rest),
      walk: (filter, page) => records.walk(changed(filter), page),
    },
  }
}

function ignoringCase({ text, match }: RecordSearch['names'][number]): RecordSearch['names'][number] {
  return { text, match: match.endsWith('exact') ? 'iexact' : 'ipartial' }
}
