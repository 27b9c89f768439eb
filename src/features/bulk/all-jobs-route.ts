import { Type } from 'typebox'
import { next, PAGE_QUERY, text } from '../../contract/answer-fields.ts'
import type { ContractRoute } from '../../contract/contract-route.ts'
import { pageRequest } from '../../contract/list-query.ts'
import type { Services } from '../../contract/services.ts'
import { type BulkServices, bulkRoute, JobView, presentJob } from './job-routes.ts'

export const OwnedJobView = Type.Object({ ...JobView.properties, account: text }, { title: 'OwnedJob' })

/** The jobs of all accounts, for the owner. */
export const allJobsRoute: ContractRoute<Services & BulkServices> = bulkRoute({
  access: 'owner',
  tag: 'The owner',
  method: 'GET',
  path: '/jobs',
  summary: 'List the jobs of all accounts, newest first',
  details: '`{jobs, next}`: the jobs of `GET /jobs`, each with its `account`. `limit` (100, at most 1,000), `after`.',
  query: PAGE_QUERY,
  answers: { 200: Type.Object({ jobs: Type.Array(OwnedJobView), next }, { title: 'OwnedJobs' }) },
  errors: ['VALIDATION'],
  handler: async ({ query }, { bulk }) => {
    const page = await bulk.recent(pageRequest(query))
    const shown = page.rows.map(({ accountId, ...job }) => ({ ...presentJob(job), account: accountId }))
    return { status: 200, body: { jobs: shown, next: page.next } }
  },
})
