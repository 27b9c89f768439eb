import type { BulkChange } from '../../catalogue/bulk-changes.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import { JobRunner } from '../../jobs/job-runner.ts'
import { ChangeAttempt, type ChangeAttemptParts } from './change-attempt.ts'

const JOBS_AT_ONCE = 2
const ACCOUNTS_AT_ONCE = 16
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000
const FULL_MS = 10_000

/** Creates the runner of jobs that change many records. One job of an account runs at a time. */
export function bulkRunner(parts: ChangeAttemptParts, logger: Logger): JobRunner<BulkChange, ChangeAttempt> {
  const { bulk, clock } = parts
  return new JobRunner(
    {
      name: 'bulk changes',
      pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
      batch: { accounts: ACCOUNTS_AT_ONCE, each: 1 },
      perAccount: 1,
      fullMs: FULL_MS,
      due: query => bulk.due(query),
      nextDue: () => bulk.nextDue(),
      isFull: running => [...running].length >= JOBS_AT_ONCE,
      attempt: row => new ChangeAttempt(row, parts),
      begin: ({ job }) => bulk.begin(job.id),
      failed: async (_, { id, name }, { error, retryAt }) => {
        const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the job failed'
        logger.warn({ err: error, job: name, retryAt }, 'a change of many records failed and is retried')
        await bulk.retry(id, retryAt, reason)
      },
    },
    { clock, logger },
  )
}
