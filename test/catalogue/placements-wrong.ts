import type { Broken } from './content-wrong.ts'

/** Placements with one fault each, and the rules that must detect it. */
export const wrongPlacements: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'sets records to pinned before the backend confirms',
    ({ records }) => ({
      records: {
        ...records,
        commit: async intents =>
          (await records.commit(intents)).map(made => ({
            ...made,
            record: { ...made.record, status: 'pinned' as const },
          })),
      },
    }),
    [/^makes an external/, /^delays a new/],
  ],
  [
    'returns pinned records twice',
    ({ placements }) => {
      let last: Awaited<ReturnType<typeof placements.placed>> | null = null
      const placed: typeof placements.placed = async (...request) => {
        const step = await placements.placed(...request)
        last = step.changes.length > 0 || last === null ? step : { ...last, isDone: true }
        return last
      }
      return { placements: { ...placements, placed } }
    },
    [/^makes an external/],
  ],
  [
    'forgets to unpin',
    ({ placements }) => ({
      placements: {
        ...placements,
        find: async (...request) => {
          const row = await placements.find(...request)
          return row?.isWanted === true ? row : undefined
        },
        due: async query => {
          const { jobs: rows, last } = await placements.due(query)
          return { jobs: rows.filter(({ isWanted }) => isWanted), last }
        },
      },
    }),
    [/^unpins a DAG/],
  ],
  [
    'unpins a DAG that is needed',
    ({ placements }) => ({ placements: { ...placements, beginUnpin: async () => true } }),
    [/^unpins a DAG/, /^ignores a job/],
  ],
  [
    'accepts a job of an earlier generation',
    ({ placements }) => ({
      placements: {
        ...placements,
        retry: async (key, retry) => {
          const query = { backendId: 1, now: Number.POSITIVE_INFINITY, after: '', accounts: 9, each: 9 }
          const row = (await placements.due(query)).jobs.find(({ id }) => id === key.id)
          return placements.retry(row ?? key, retry)
        },
      },
    }),
    [/^ignores a job/],
  ],
  [
    'forgets until when an unpin may arrive',
    ({ placements }) => ({ placements: { ...placements, beginUnpin: key => placements.beginUnpin(key, 0) } }),
    [/^delays a new/],
  ],
  [
    'ignores requests of earlier attempts',
    ({ placements }) => ({
      placements: { ...placements, released: (key, { now }) => placements.released(key, { now, until: 0 }) },
    }),
    [/^keeps an unpinned/],
  ],
  [
    'retries without a pause',
    ({ placements }) => ({
      placements: { ...placements, retry: (key, { reason }) => placements.retry(key, { at: 0, reason }) },
    }),
    [/^keeps records pinning/],
  ],
  [
    'leaves records of a lost DAG pinned',
    ({ placements }) => ({ placements: { ...placements, lost: async () => [] } }),
    [/^sends a DAG/],
  ],
  [
    'handles an unconfirmed DAG as lost',
    ({ placements }) => ({
      placements: {
        ...placements,
        lost: async (key, lost) => {
          await placements.placed(key, lost.now)
          return placements.lost(key, lost)
        },
      },
    }),
    [/^sends a DAG/],
  ],
  [
    'makes an entrusted DAG due',
    ({ placements }) => ({
      placements: {
        ...placements,
        entrust: async (...given) => {
          const row = await placements.entrust(...given)
          if (row.dueAt === null) await placements.retry(row, { at: given[2].now, reason: null })
          return row
        },
      },
    }),
    [/^pins an entrusted/],
  ],
  [
    'leaves a DAG entrusted that this node has',
    ({ placements }) => {
      const left = new Set<number>()
      return {
        placements: {
          ...placements,
          entrust: async (...given) => {
            const row = await placements.entrust(...given)
            left.add(row.id)
            return row
          },
          due: async query => {
            const { jobs: rows, last } = await placements.due(query)
            return { jobs: rows.filter(({ id }) => !left.has(id)), last }
          },
        },
      }
    },
    [/^sends an entrusted/],
  ],
  [
    'never withdraws an entrusted DAG',
    ({ placements }) => ({ placements: { ...placements, withdraw: async () => undefined } }),
    [/^unpins an entrusted/],
  ],
  [
    'unpins a DAG that a record needs',
    ({ placements }) => ({
      placements: { ...placements, disown: async (...given) => (await placements.disown(...given)) || true },
    }),
    [/^unpins an unknown/],
  ],
  [
    'counts placed DAGs in the backlog',
    ({ placements }) => ({
      placements: {
        ...placements,
        lag: async backend => {
          const rows = (await placements.after(0, 99)).filter(({ backendId }) => backendId === backend)
          return { ...(await placements.lag(backend)), pins: rows.length }
        },
      },
    }),
    [/^counts the backlog/],
  ],
  [
    'starts from the first account each time',
    ({ placements }) => ({ placements: { ...placements, due: query => placements.due({ ...query, after: '' }) } }),
    [/^reads due placements/],
  ],
  [
    'ignores the backend of a query',
    ({ placements }) => ({
      placements: {
        ...placements,
        due: async query => {
          const own = await placements.due(query)
          const other = await placements.due({ ...query, backendId: 2 })
          return { jobs: [...own.jobs, ...other.jobs], last: own.last }
        },
      },
    }),
    [/^reads due placements/],
  ],
]
