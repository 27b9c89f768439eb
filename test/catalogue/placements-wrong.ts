import type { Broken } from './content-wrong.ts'

/** Those that are wrong in one thing each, and words of the rules that find it out. */
export const wrongPlacements: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'says pinned before anything has been seen',
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
    [/^what is committed elsewhere/, /^what is needed again/],
  ],
  [
    'tells of pinned records twice',
    ({ placements }) => {
      let last: Awaited<ReturnType<typeof placements.placed>> | null = null
      const placed: typeof placements.placed = async (...request) => {
        const step = await placements.placed(...request)
        last = step.changes.length > 0 || last === null ? step : { ...last, isDone: true }
        return last
      }
      return { placements: { ...placements, placed } }
    },
    [/^what is committed elsewhere/],
  ],
  [
    'forgets what is to be let go of',
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
    [/^what the last record lets go of/],
  ],
  [
    'lets go whoever needs it',
    ({ placements }) => ({ placements: { ...placements, beginUnpin: async () => true } }),
    [/^what the last record lets go of/, /^a job of an earlier generation/],
  ],
  [
    'takes a late job for that of now',
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
    [/^a job of an earlier generation/],
  ],
  [
    'forgets until when a request to let go may arrive',
    ({ placements }) => ({ placements: { ...placements, beginUnpin: key => placements.beginUnpin(key, 0) } }),
    [/^what is needed again/],
  ],
  [
    'forgets what earlier attempts have sent',
    ({ placements }) => ({
      placements: { ...placements, released: (key, { now }) => placements.released(key, { now, until: 0 }) },
    }),
    [/^what has been let go of/],
  ],
  [
    'repeats at once',
    ({ placements }) => ({
      placements: { ...placements, retry: (key, { reason }) => placements.retry(key, { at: 0, reason }) },
    }),
    [/^an attempt that failed/],
  ],
  [
    'forgets the records of what was lost',
    ({ placements }) => ({ placements: { ...placements, lost: async () => [] } }),
    [/^what is lost there/],
  ],
  [
    'takes for lost what was never seen',
    ({ placements }) => ({
      placements: {
        ...placements,
        lost: async (key, lost) => {
          await placements.placed(key, lost.now)
          return placements.lost(key, lost)
        },
      },
    }),
    [/^what is lost there/],
  ],
  [
    'makes due what a backend fetches by itself',
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
    [/^what a backend fetches by itself/],
  ],
  [
    'leaves to a backend what is here',
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
    [/^what a backend fetches by itself is sent/],
  ],
  [
    'never withdraws',
    ({ placements }) => ({ placements: { ...placements, withdraw: async () => undefined } }),
    [/^what a backend fetches by itself is let go of/],
  ],
  [
    'disowns what is needed',
    ({ placements }) => ({
      placements: { ...placements, disown: async (...given) => (await placements.disown(...given)) || true },
    }),
    [/^what a backend has and nothing is known of/],
  ],
  [
    'counts what is there among what waits',
    ({ placements }) => ({
      placements: {
        ...placements,
        lag: async backend => {
          const rows = (await placements.after(0, 99)).filter(({ backendId }) => backendId === backend)
          return { ...(await placements.lag(backend)), pins: rows.length }
        },
      },
    }),
    [/^what waits on a backend/],
  ],
  [
    'begins with the first account again',
    ({ placements }) => ({ placements: { ...placements, due: query => placements.due({ ...query, after: '' }) } }),
    [/^jobs are looked for/],
  ],
  [
    'tells one backend what is another’s',
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
    [/^jobs are looked for/],
  ],
]
