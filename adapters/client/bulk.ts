import type { Static } from 'typebox'
import { HoldfastError } from '../../src/domain/errors.ts'
import type * as allJobs from '../../src/features/bulk/all-jobs-route.ts'
import type * as jobs from '../../src/features/bulk/job-routes.ts'
import { type Connection, pathPart } from './connection.ts'
import { waitFor } from './idle-timer.ts'
import type { ListOptions } from './pins.ts'
import { isoTime } from './times.ts'

/** A job that changes many records, and its progress. */
export type Job = Static<typeof jobs.JobView>
/** A job of any account. */
export type OwnedJob = Static<typeof allJobs.OwnedJobView>

/** Filters of a job. A record must match all given filters. */
export interface JobFilter
  extends Pick<
    ListOptions,
    'cid' | 'q' | 'name' | 'match' | 'meta' | 'type' | 'status' | 'visibility' | 'after' | 'expiring'
  > {
  /** Records created at this time or later stay as they are. */
  createdBefore: string | Date
  /** Number of records that the filter must select. */
  expected: number
}

/** An edit of many records. */
export type Edit =
  /** Replaces `find` in each name, then adds the prefix and the suffix. */
  | { rename: { find?: string; replace?: string; prefix?: string; suffix?: string } }
  /** Sets the expiry. Null removes it. */
  | { timelock: string | Date | null }
  /** Moves the records to a cluster of the same system. */
  | { cluster: string }
  /** Makes the records public or private. Copies that others have made of public content cannot be recalled. */
  | { visibility: 'public' | 'private' }

/** Options for waiting until a job ends. */
export interface JobWaitOptions {
  onProgress?: ((job: Job) => void) | undefined
  signal?: AbortSignal | undefined
}

const LOOK_MS = 250
const EDITS = ['rename', 'timelock', 'cluster', 'visibility']

/** Jobs of the account that change many records. */
export class Jobs {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Deletes up to 1,000 records.
   * @throws HoldfastError `VALIDATION`, `QUOTA_EXCEEDED` with too many jobs
   * @example const { id } = await client.jobs.deleteRecords([uploadId])
   */
  deleteRecords(uploadIds: readonly string[]): Promise<Job> {
    return this.#start('/jobs', { action: 'delete', ids: uploadIds })
  }

  /**
   * Deletes all records that match.
   *
   * @throws HoldfastError `CONFLICT` if another number of records matches, which `details.selected` has; `VALIDATION`,
   *   `INVALID_CID`
   * @example await client.jobs.deleteMatching({ q: 'draft', createdBefore: new Date(), expected: 3 })
   */
  deleteMatching(filter: JobFilter): Promise<Job> {
    return this.#start('/jobs', { action: 'delete', filter: filterFields(filter) })
  }

  /**
   * Edits up to 1,000 records. An edit cannot be undone.
   *
   * @throws HoldfastError `VALIDATION`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`, `CLUSTER_NOT_ALLOWED`
   * @example await client.jobs.editRecords([uploadId], { timelock: '2030-12-31' })
   */
  editRecords(uploadIds: readonly string[], edit: Edit): Promise<Job> {
    return this.#start('/jobs/edits', { ...editFields(edit), ids: uploadIds })
  }

  /**
   * Edits all records that match.
   * @throws HoldfastError as {@link Jobs.editRecords} and {@link Jobs.deleteMatching}
   * @example await client.jobs.editMatching({ createdBefore: new Date(), expected: 3 }, { rename: { prefix: 'old ' } })
   */
  editMatching(filter: JobFilter, edit: Edit): Promise<Job> {
    return this.#start('/jobs/edits', { ...editFields(edit), filter: filterFields(filter) })
  }

  /**
   * @throws HoldfastError `NOT_FOUND` for an unknown job, or more than an hour after its end
   * @example const { done, total } = await client.jobs.get(jobId)
   */
  async get(id: string, signal?: AbortSignal): Promise<Job> {
    return (await this.#connection.json<Answer>('GET', jobPath(id), { signal })).job
  }

  /**
   * Returns the jobs that run or that ended within an hour, newest first.
   * @example const running = (await client.jobs.list()).filter(({ state }) => state === 'running')
   */
  async list(signal?: AbortSignal): Promise<Job[]> {
    return (await this.#connection.json<{ jobs: Job[] }>('GET', '/jobs', { signal })).jobs
  }

  /**
   * Restores the deleted records.
   * @throws HoldfastError `CONFLICT` after the undo period, `QUOTA_EXCEEDED`
   * @example await client.jobs.untilEnded(await client.jobs.undo(jobId))
   */
  async undo(id: string): Promise<Job> {
    return (await this.#connection.json<Answer>('POST', `${jobPath(id)}/undo`, { json: {} })).job
  }

  /**
   * Polls a job until it ends.
   * @throws HoldfastError `ABORTED` if `signal` aborts
   * @example const { failures } = await client.jobs.untilEnded(await client.jobs.deleteRecords([uploadId]))
   */
  async untilEnded(job: Job, { onProgress, signal }: JobWaitOptions = {}): Promise<Job> {
    let latest = job
    while (latest.state === 'running' || latest.state === 'undoing') {
      onProgress?.(latest)
      await waitFor(this.#connection.settings.wait, LOOK_MS, signal)
      latest = await this.get(job.id, signal)
    }
    return latest
  }

  async #start(path: string, json: object): Promise<Job> {
    return (await this.#connection.json<Answer>('POST', path, { json })).job
  }
}

interface Answer {
  job: Job
}

function filterFields({ createdBefore, expiring, type, status, after, ...filter }: JobFilter): object {
  const listed = { type: type && [type].flat(), status: status && [status].flat(), hasExpiration: expiring }
  return {
    ...filter,
    ...listed,
    after: isoTime(after, 'after'),
    createdBefore: isoTime(createdBefore, 'createdBefore'),
  }
}

function editFields(edit: Edit): object {
  // The type allows the fields of several edits, of which a job would make the first one only.
  const named = EDITS.filter(name => Reflect.get(edit, name) !== undefined)
  if (named.length !== 1) {
    throw new HoldfastError(
      'VALIDATION',
      `a job makes one edit: ${new Intl.ListFormat('en', { type: 'disjunction' }).format(EDITS)}`,
    )
  }
  const [action] = named
  if (action !== 'timelock' || !('timelock' in edit)) return { action, ...edit }
  const { timelock } = edit
  return { action, timelock: timelock === null ? 'never' : isoTime(timelock, 'timelock', 'INVALID_TIMELOCK') }
}

function jobPath(id: string): string {
  return `/jobs/${pathPart(id, 'the id')}`
}
