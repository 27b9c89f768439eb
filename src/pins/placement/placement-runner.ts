import type { PlacementRow } from '../../catalogue/placements.ts'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { unsettled } from '../../concurrency/woken-work.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import { cidOf } from '../../ipld/cid.ts'
import { type JobKind, JobRunner } from '../../jobs/job-runner.ts'
import { PlacementAttempt, type PlacementParts } from './placement-attempt.ts'

/** Maximum number of concurrent jobs of one backend. */
const JOBS_AT_ONCE = 32
const JOBS_OF_ACCOUNT = 24
const LARGE_AT_ONCE = 4
const ACCOUNTS_AT_ONCE = 16
const JOBS_EACH = 1
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 300_000
/** Time after which a full runner checks for a free slot, in case no attempt has ended. */
const FULL_MS = 60_000

/**
 * Pins and unpins DAGs on external backends, as the rows of the table `placements` demand. Retries a failed job until
 * it succeeds.
 */
export class PlacementRunner {
  readonly #runners: Array<JobRunner<PlacementRow, PlacementAttempt>>

  constructor(parts: PlacementParts, logger: Logger) {
    const { clock, backends } = parts
    this.#runners = [...backends.keys()].map(id => new JobRunner(jobsOf(id, parts, logger), { clock, logger }))
  }

  wake(): void {
    for (const runner of this.#runners) runner.wake()
  }

  unsettled(): Promise<string[]> {
    return unsettled(this.#runners)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#runners.map(runner => runner.stop()))
  }
}

function jobsOf(backendId: number, parts: PlacementParts, logger: Logger): JobKind<PlacementRow, PlacementAttempt> {
  const { placements } = parts
  const large = new Semaphore(LARGE_AT_ONCE)
  return {
    name: 'placements',
    pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
    batch: { accounts: ACCOUNTS_AT_ONCE, each: JOBS_EACH },
    perAccount: JOBS_OF_ACCOUNT,
    fullMs: FULL_MS,
    due: query => placements.due({ backendId, ...query }),
    nextDue: () => placements.nextDue(backendId),
    isFull: running => [...running].length >= JOBS_AT_ONCE,
    attempt: row => new PlacementAttempt(row, parts, large),
    begin: ({ job }) => placements.begin(job),
    failed: async (_, row, { error, retryAt: at }) => {
      const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the job failed'
      logger.warn({ cid: cidOf(row).toString(), reason, retryAt: at }, 'a pin or unpin on an external cluster failed')
      await placements.retry(row, { at, reason })
    },
  }
}
