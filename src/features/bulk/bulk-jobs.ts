import type { Activity } from '../../concurrency/activity.ts'
import type { Clock } from '../../domain/clock.ts'
import { orAborted } from '../../domain/sources.ts'
import { accountOf, type OwnAccount, type Requesting } from '../../pins/requesting-account.ts'
import type { BulkJob, BulkRequest, BulkService } from './bulk-service.ts'

/** Change of many records of one account. Exactly one of `ids` and `filter` is set. */
export type JobRequest = Omit<BulkRequest, 'account'> & Requesting

/** Options for waiting until a job ends. */
export interface JobWait extends Requesting {
  onProgress?: ((job: BulkJob) => void) | undefined
  signal?: AbortSignal | undefined
}

/**
 * Jobs that change many records of an account. A job continues after a restart of the engine.
 * @throws HoldfastError from every method: `VALIDATION` if no account is named and the engine has several, or for an
 * unknown option; `NOT_FOUND` for an unknown account; `UNAVAILABLE` after the engine has stopped
 */
export interface BulkJobs {
  /**
   * Starts a job that deletes, renames, expires or moves records: up to 1,000 ids, or all that match a filter. The
   * filter needs the number of records that it selects.
   * @throws HoldfastError `CONFLICT` if the filter selects another number, which `details.selected` has; `VALIDATION`,
   * `INVALID_CID`; `QUOTA_EXCEEDED` for too many jobs; `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`, `CLUSTER_NOT_ALLOWED`
   * @example await engine.jobs.start({ action: 'delete', filter: { q: 'draft', createdBefore: new Date(), expected: 3 } })
   * @example await engine.jobs.start({ action: 'rename', ids: [uploadId], rename: { prefix: 'old ' } })
   */
  start(request: JobRequest): Promise<BulkJob>
  /**
   * Returns a job that runs, or that ended within an hour.
   * @throws HoldfastError `NOT_FOUND`
   * @example const { done, total } = await engine.jobs.get(jobId)
   */
  get(id: string, options?: Requesting): Promise<BulkJob>
  /**
   * Returns the jobs that run, or that ended within an hour, newest first.
   * @example const running = (await engine.jobs.list()).filter(({ state }) => state === 'running')
   */
  list(options?: Requesting): Promise<BulkJob[]>
  /**
   * Restores the records that a job deleted, with their ids, names and times. Possible until `undoUntil`. Returns when
   * the undo has begun.
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` after the undo period, or for a job that deletes nothing;
   * `QUOTA_EXCEEDED`
   * @example await engine.jobs.untilEnded((await engine.jobs.undo(jobId)).id)
   */
  undo(id: string, options?: Requesting): Promise<BulkJob>
  /**
   * Waits until a job, or its undo, has ended.
   * @throws HoldfastError `NOT_FOUND`; `ABORTED` when the engine stops; the reason of `signal`
   * @example const { failures } = await engine.jobs.untilEnded(jobId, { onProgress: ({ done }) => console.log(done) })
   */
  untilEnded(id: string, options?: JobWait): Promise<BulkJob>
}

export interface BulkJobsParts {
  bulk: Pick<BulkService, 'start' | 'get' | 'list' | 'undo'>
  steps: BulkSteps
  activity: Activity
  clock: Clock
  ownAccount: OwnAccount
}

/** Another node of a fleet may carry out the job, without a step on this node. */
const LOOK_MS = 1_000

/** Steps of all jobs that this node carries out. */
export class BulkSteps {
  readonly #waiting = new Set<() => void>()

  /** Calls `wake` after each step. Returns a function that ends the calls. */
  watch(wake: () => void): () => void {
    this.#waiting.add(wake)
    return () => this.#waiting.delete(wake)
  }

  ended(): void {
    for (const wake of this.#waiting) wake()
  }
}

/** Returns the jobs of an engine for callers in this process. */
export function bulkJobs({ bulk, steps, activity, clock, ownAccount }: BulkJobsParts): BulkJobs {
  const whileRunning = <T>(request: JobWait, work: (account: string, signal: AbortSignal) => Promise<T>): Promise<T> =>
    activity.run(request.signal, async signal => work(await accountOf(request, ownAccount), signal))
  return {
    start: request => whileRunning(request, account => bulk.start({ ...request, account })),
    get: (id, options = {}) => whileRunning(options, account => bulk.get(account, id)),
    list: (options = {}) => whileRunning(options, account => bulk.list(account)),
    undo: (id, options = {}) => whileRunning(options, account => bulk.undo(account, id)),
    untilEnded: (id, options = {}) =>
      whileRunning(options, async (account, signal) => {
        for (;;) {
          const looked = Promise.withResolvers<void>()
          const unwatch = steps.watch(looked.resolve)
          const cancel = clock.after(LOOK_MS, looked.resolve)
          try {
            const job = await bulk.get(account, id)
            if (job.state === 'done' || job.state === 'undone') return job
            options.onProgress?.(job)
            await orAborted(looked.promise, signal)
          } finally {
            unwatch()
            cancel()
          }
        }
      }),
  }
}
