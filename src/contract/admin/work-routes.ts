import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { JobView, presentJob } from '../../features/bulk/job-routes.ts'
import { count, instant, next, PAGE_QUERY, text } from '../answer-fields.ts'
import { type ContractRoute, route } from '../contract-route.ts'
import { pageRequest } from '../list-query.ts'

const owner = { access: 'owner', tag: 'The owner' } as const

const OwnedJob = Type.Object({ ...JobView.properties, account: text }, { title: 'OwnedJob' })

const jobs = route({
  ...owner,
  method: 'GET',
  path: '/jobs',
  summary: 'List the jobs of all accounts, newest first',
  details: '`{jobs, next}`: the jobs of `GET /jobs`, each with its `account`. `limit` (100, at most 1,000), `after`.',
  query: PAGE_QUERY,
  answers: { 200: Type.Object({ jobs: Type.Array(OwnedJob), next }, { title: 'OwnedJobs' }) },
  errors: ['VALIDATION'],
  handler: async ({ query }, { bulk }) => {
    const page = await bulk.recent(pageRequest(query))
    const shown = page.rows.map(({ accountId, ...job }) => ({ ...presentJob(job), account: accountId }))
    return { status: 200, body: { jobs: shown, next: page.next } }
  },
})

const backups = route({
  ...owner,
  method: 'GET',
  path: '/backups',
  summary: 'Show the running backup, and the age of the newest',
  details:
    '`{hasRoots, running, newestAt}`. The field `running` is `{blocks, bytes}` so far, or null. The field `newestAt` is the ' +
    'newest backup below `backupRoots`, up to a minute old, or null. The node does not know backups in other directories.',
  answers: {
    200: Type.Object(
      {
        hasRoots: Type.Boolean(),
        running: orNull(Type.Object({ blocks: count, bytes: count })),
        newestAt: orNull(instant),
      },
      { title: 'BackupState' },
    ),
  },
  handler: async (_, services) => {
    const { newestAt, ...state } = await services.backups.state()
    return { status: 200, body: { ...state, newestAt: iso(newestAt) } }
  },
})

export const workRoutes: readonly ContractRoute[] = [jobs, backups]
