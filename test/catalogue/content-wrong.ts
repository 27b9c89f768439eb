import type { RecordFilter, RecordSearch } from '../../src/catalogue/index.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'
import { wrongPlacements } from './placements-wrong.ts'
import { wrongReconciliations } from './reconciliation-wrong.ts'
import { wrongWebhooks } from './webhooks-wrong.ts'

export type Broken = (right: ContentCatalogue) => Partial<ContentCatalogue>

/** Catalogues that are wrong in one thing each, and words of the rules that find it out. */
export const wrongCatalogues: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  ...wrongPlacements,
  ...wrongReconciliations,
  ...wrongWebhooks,
  [
    'says that it has committed and has not',
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
    [/^a committed record/, /^a removal takes all/],
  ],
  [
    'commits one record after the other',
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
    [/^of records that are committed together/],
  ],
  [
    'makes another record of the same request',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents =>
          records.commit(intents.map(one => ({ ...one, record: { ...one.record, originalName: one.record.id } }))),
      },
    }),
    [/^a committed record/, /^content that comes otherwise/],
  ],
  [
    'forgets the rest of a long removal',
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
    [/^a removal takes all/],
  ],
  [
    'removes in every cluster',
    ({ records }) => ({
      records: { ...records, remove: request => records.remove({ ...request, clusterId: null }) },
    }),
    [/^a removal takes all/],
  ],
  [
    'answers a removal twice',
    ({ records }) => {
      let last: Awaited<ReturnType<typeof records.remove>> = []
      const remove: typeof records.remove = async request => {
        const rows = await records.remove(request)
        last = rows.length > 0 ? rows : last
        return last
      }
      return { records: { ...records, remove } }
    },
    [/^a removal takes all/],
  ],
  [
    'shows what has expired until it is removed',
    ({ records }) => ({
      records: { ...records, page: (filter, ...rest) => records.page({ ...filter, now: 0 }, ...rest) },
    }),
    [/^what has expired/],
  ],
  [
    'delivers and delivers again',
    ({ fetches }) => {
      let last: Awaited<ReturnType<typeof fetches.deliver>> | null = null
      const deliver: typeof fetches.deliver = async (...request) => {
        const made = await fetches.deliver(...request)
        last = made.changes.length > 0 || last === null ? made : last
        return last
      }
      return { fetches: { ...fetches, deliver } }
    },
    [/^records of one content wait/],
  ],
  [
    'delivers whatever the limits are',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        deliver: (id, limits, now) => {
          const none = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
          return fetches.deliver(id, new Map([...limits.keys()].map(account => [account, none])), now)
        },
      },
    }),
    [/^who cannot have content/],
  ],
  [
    'gives a fetch up that somebody waits for',
    ({ fetches }) => ({ fetches: { ...fetches, dropIfUnneeded: async () => true } }),
    [/^a fetch goes with the last/],
  ],
  [
    'forgets when to try again',
    ({ fetches }) => ({
      fetches: { ...fetches, fail: (id, failure, now) => fetches.fail(id, { ...failure, retryAt: null }, now) },
    }),
    [/^an attempt that fails/],
  ],
  [
    'tells of a failure without its code',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        fail: (id, failure, now) =>
          fetches.fail(id, { ...failure, reason: { code: null, text: failure.reason.text } }, now),
      },
    }),
    [/^an attempt that fails/],
  ],
  [
    'counts storage once for each record',
    ({ records }) => ({
      records: {
        ...records,
        usage: async (accountId, now) => {
          const { pins, ...usage } = await records.usage(accountId, now)
          return { ...usage, pins, storedBytes: 512 * pins }
        },
      },
    }),
    [/^storage is bounded/],
  ],
  [
    'begins each page one later than it is to',
    ({ records }) => ({
      records: { ...records, page: (filter, offset, limit) => records.page(filter, offset && offset + 1, limit) },
    }),
    [/^lists go from the newest/],
  ],
  [
    'counts where a walk is to go on',
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
    [/^a walk tells/],
  ],
  [
    'takes upper and lower case for the same',
    ({ records }) => searching(records, search => ({ ...search, names: search.names.map(ignoringCase) })),
    [/^names are found/],
  ],
  [
    'counts what a page of a search has for all of it',
    ({ records }) => ({
      records: {
        ...records,
        page: async (filter, ...rest) => {
          const { rows, total } = await records.page(filter, ...rest)
          return { rows, total: filter.search === undefined ? total : rows.length }
        },
      },
    }),
    [/^a search is answered/],
  ],
  [
    'has a bound of time let through what is at it',
    ({ records }) => searching(records, search => ({ ...search, before: search.before && search.before + 1 })),
    [/^records are found by type/],
  ],
  [
    'takes the order of records for that of time',
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
    [/^a clock that was set back/],
  ],
  [
    'finds by the name that a record had',
    ({ records }) => ({
      records: {
        ...records,
        rename: async request => {
          const row = await records.get(request.id)
          return (await records.rename({ ...request, name: undefined })) && row !== undefined
        },
      },
    }),
    [/^what changes is found/],
  ],
  [
    'lets anybody change a name',
    ({ records }) => ({
      records: {
        ...records,
        rename: async ({ id, ...request }) =>
          records.rename({ ...request, id, accountId: (await records.get(id))?.accountId ?? '' }),
      },
    }),
    [/^a name is changed/],
  ],
  [
    'lets any number wait',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        request: request => fetches.request({ ...request, limits: { ...request.limits, maxQueuedPins: null } }),
      },
    }),
    [/^so many records may wait/],
  ],
]

type Records = ContentCatalogue['records']

/** A search that asks for something else. */
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
