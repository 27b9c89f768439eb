import { Type } from 'typebox'
import type { Principal } from '../../access/principal.ts'
import { orNull } from '../../config/schema-parts.ts'
import { count, describedCount, describedInstant, instant, text } from '../../contract/answer-fields.ts'
import { identifier, optional, optionalMeta } from '../../contract/body-reader.ts'
import { type ContractRoute, json, routesWith, type Shown } from '../../contract/contract-route.ts'
import { state } from '../../contract/record-fields.ts'
import type { Services } from '../../contract/services.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import { VISIBILITIES } from '../../domain/visibility.ts'
import { NAME_MATCHES, PIN_TYPES } from '../../pins/lists/list-search.ts'
import { type BulkJob, type BulkService, MOST_IDS } from './bulk-service.ts'

/** Services that only the routes of jobs use. */
export interface BulkServices {
  bulk: Pick<BulkService, 'start' | 'list' | 'get' | 'undo' | 'recent'>
}

export const bulkRoute = routesWith<BulkServices>()

const Filter = Type.Object({
  createdBefore: describedInstant('only records created before this instant'),
  expected: describedCount('the number of records that you expect the filter to select'),
  cid: optional,
  hasExpiration: Type.Optional(Type.Boolean()),
  q: optional,
  name: optional,
  match: Type.Optional(Type.Enum([...NAME_MATCHES])),
  meta: optionalMeta,
  type: Type.Optional(Type.Array(Type.Enum([...PIN_TYPES]))),
  status: Type.Optional(Type.Array(state)),
  visibility: Type.Optional(Type.Enum([...VISIBILITIES])),
  after: optional,
})

export const JobView = Type.Object(
  {
    id: text,
    action: Type.Enum(['delete', 'rename', 'timelock', 'cluster', 'visibility']),
    state: Type.Enum(['running', 'done', 'undoing', 'undone']),
    total: describedCount('number of selected records'),
    done: describedCount('number of records that the job has changed'),
    failed: count,
    restored: describedCount('number of records that an undo has restored'),
    failures: Type.Array(Type.Object({ uploadId: text, code: text }), {
      description:
        'the first 100 failures, such as `NOT_FOUND`, `EXPIRED` and `QUOTA_EXCEEDED`. A name without text or over 255 ' +
        'characters is `VALIDATION`. A cluster of another system is `CLUSTER_NOT_ALLOWED`. A visibility that cannot change ' +
        'is `CONFLICT`: the content has not arrived, or its cluster serves to everybody.',
    }),
    createdAt: instant,
    endedAt: orNull(instant),
    undoUntil: orNull(describedInstant('end of the undo period; null if the job cannot be undone now')),
    undoEnded: Type.Optional(
      orNull(
        Type.Enum(['quota', 'disk', 'owner', 'account'], {
          description:
            'why the undo period ended early: newer deletions keep as much as the quota, or the disk of a node was full. ' +
            'With `owner` or `account`, the owner ended it, or deleted the account. Absent before 0.4.0.',
        }),
      ),
    ),
  },
  { title: 'Job' },
)
const Answer = Type.Object({ job: JobView })

const selection = {
  ids: Type.Optional(Type.Array(identifier, { maxItems: MOST_IDS })),
  filter: Type.Optional(Filter),
}

const shared = { tag: 'Jobs', params: { id: 'The `id` of the job.' } } as const

const start = bulkRoute({
  tag: 'Jobs',
  method: 'POST',
  path: '/jobs',
  audit: 'bulk.delete',
  access: 'files:delete',
  summary: 'Delete many records',
  details:
    'Takes up to 1,000 `ids`, or a `filter` like that of the list of uploads. If the filter does not select exactly ' +
    '`expected` records, the answer is 409, and nothing is deleted. With `files:read` the answer has the number as `selected`. The job goes on after the answer, also after a ' +
    'restart.',
  body: json(
    Type.Object({
      action: Type.Enum(['delete']),
      ...selection,
    }),
  ),
  answers: { 202: Answer },
  errors: ['VALIDATION', 'INVALID_CID', 'CONFLICT', 'QUOTA_EXCEEDED'],
  handler: async ({ principal, body }, { bulk }) => {
    const { action, ids, filter } = await body()
    const job = await started(principal, bulk.start({ account: principal.account.id, action, ids, filter }))
    return { status: 202, body: { job: presentJob(job) } }
  },
})

const edit = bulkRoute({
  tag: 'Jobs',
  method: 'POST',
  path: '/jobs/edits',
  audit: 'bulk.edit',
  access: 'files:write',
  summary: 'Edit many records',
  details:
    'Selects records as `POST /jobs` does. The action `rename` replaces `find` in each name, then adds `prefix` and `suffix`. ' +
    'The action `timelock` sets the expiry; `never` removes it. The action `cluster` moves records between clusters of one system. ' +
    'The action `visibility` makes records `public` or `private`; `public` also needs `files:read` and `share:write`. ' +
    'An edit cannot be undone.',
  body: json(
    Type.Object({
      action: Type.Enum(['rename', 'timelock', 'cluster', 'visibility']),
      rename: Type.Optional(Type.Object({ find: optional, replace: optional, prefix: optional, suffix: optional })),
      timelock: optional,
      cluster: optional,
      visibility: optional,
      ...selection,
    }),
  ),
  answers: { 202: Answer },
  errors: [
    'VALIDATION',
    'INVALID_CID',
    'CONFLICT',
    'QUOTA_EXCEEDED',
    'INVALID_TIMELOCK',
    'TIMELOCK_NOT_ALLOWED',
    'CLUSTER_NOT_ALLOWED',
    'missing_scope',
  ],
  handler: async ({ principal, body }, { bulk, scopes }) => {
    const given = await body()
    if (given.visibility === 'public') scopes.check(principal, 'files:read', 'share:write')
    const job = await started(principal, bulk.start({ ...given, account: principal.account.id }))
    return { status: 202, body: { job: presentJob(job) } }
  },
})

/** Hides how many records a filter selects from a credential that may not list records. */
async function started({ credential }: Principal, job: Promise<BulkJob>): Promise<BulkJob> {
  try {
    return await job
  } catch (error) {
    if (!isHoldfastError(error, 'CONFLICT') || credential.scopes.includes('files:read')) throw error
    throw new HoldfastError('CONFLICT', 'the filter selects another number of records than expected', { cause: error })
  }
}

const list = bulkRoute({
  tag: 'Jobs',
  method: 'GET',
  path: '/jobs',
  access: 'files:read',
  summary: 'List the jobs',
  details: 'Jobs that run, or that ended within an hour. Newest first.',
  answers: { 200: Type.Object({ jobs: Type.Array(JobView) }) },
  handler: async ({ principal }, { bulk }) => {
    return { status: 200, body: { jobs: (await bulk.list(principal.account.id)).map(presentJob) } }
  },
})

const show = bulkRoute({
  ...shared,
  method: 'GET',
  path: '/jobs/:id',
  access: 'files:read',
  summary: 'Show a job',
  details: 'A job can be read for an hour after its end.',
  answers: { 200: Answer },
  errors: ['NOT_FOUND'],
  handler: async ({ principal, param }, { bulk }) => {
    return { status: 200, body: { job: presentJob(await bulk.get(principal.account.id, param('id'))) } }
  },
})

const undo = bulkRoute({
  ...shared,
  method: 'POST',
  path: '/jobs/:id/undo',
  audit: 'bulk.undo',
  access: 'files:write',
  summary: 'Restore the records that a job deleted',
  details:
    'Possible while the job runs, and until `undoUntil`. Restores the same records, with their ids, names and times. ' +
    'A record that has expired meanwhile stays deleted.',
  answers: { 202: Answer },
  errors: ['NOT_FOUND', 'CONFLICT', 'QUOTA_EXCEEDED'],
  handler: async ({ principal, param }, { bulk }) => {
    return { status: 202, body: { job: presentJob(await bulk.undo(principal.account.id, param('id'))) } }
  },
})

export const jobRoutes: ReadonlyArray<ContractRoute<Services & BulkServices>> = [start, edit, list, show, undo]

export function presentJob({ createdAt, endedAt, undoUntil, ...job }: BulkJob): Shown<typeof JobView> {
  return { ...job, createdAt: iso(createdAt), endedAt: iso(endedAt), undoUntil: iso(undoUntil) }
}
