import { nextTurn } from '../concurrency/turns.ts'
import { underName } from '../concurrency/work.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** A unit of work that is stored in the database. */
export interface Job {
  id: number
  /** The account on whose behalf the job runs. Accounts take turns. */
  accountId: string
  attempts: number
}

/** One attempt at a job, in this process. */
export interface Attempt<Row extends Job> {
  readonly job: Row
  /**
   * Runs the attempt. If the attempt throws an error, the runner retries the job later.
   *
   * @param begun the row of the job after the attempt was counted
   */
  run(begun: Row): Promise<void>
  abort(reason: HoldfastError): void
}

/**
 * One kind of job. It defines how rows are read and updated, and how attempts run. Times are milliseconds since the
 * epoch.
 */
export interface JobKind<Row extends Job, Made extends Attempt<Row>> {
  /** Name of the kind in the log and in the warnings of the event-loop watch. */
  name: string
  /**
   * Pauses before retries, in milliseconds. The pause after the first failure is `firstMs`. It doubles after each
   * further failure, up to `longestMs`.
   */
  pauses: { firstMs: number; longestMs: number }
  /**
   * Number of accounts that one query covers. `each` is the number of jobs per account to read in addition to the
   * running jobs.
   */
  batch: { accounts: number; each: number }
  /** Maximum number of attempts that run concurrently for one account. */
  perAccount: number
  /**
   * Time in milliseconds after which a full runner checks again whether it has room. If an attempt ends earlier, the
   * runner checks immediately.
   */
  fullMs: number
  /**
   * Returns due jobs of the next accounts after the account id `after`, in the order of the account ids. Reads
   * `accounts` accounts, and at most `each` jobs of an account.
   *
   * @returns the jobs, and in `last` the last account read; null if no account follows
   */
  due(query: {
    now: number
    after: string
    accounts: number
    each: number
  }): Promise<{ jobs: Row[]; last: string | null }>
  /** Returns when the next job is due; null if no job is scheduled. */
  nextDue(): Promise<number | null>
  /** Returns whether the running attempts leave no room for another attempt. */
  isFull(running: Iterable<Made>): boolean
  attempt(job: Row): Made
  /** Counts an attempt and returns the row of the job. Returns undefined if the job needs no more work. */
  begin(attempt: Made): Promise<Row | undefined>
  /** Records a failed attempt, and when to retry the job. */
  failed(attempt: Made, begun: Row, failure: { error: unknown; retryAt: number }): Promise<void>
  /**
   * Makes a job due again. Called after the runner failed to store the beginning or the end of an attempt. In this case
   * the row may still say that an attempt is running.
   * Undefined for a kind whose jobs stay due until their end is stored.
   */
  makeDue?(id: number): Promise<void>
}

/** Time in milliseconds before the next query. Applies after a failed query, and while a due job is already running. */
const RECHECK_MS = 1_000

/**
 * Runs jobs when they are due, and retries failed attempts with exponential backoff. The account with the fewest
 * running attempts goes first.
 * The duration of a query does not depend on the number of due jobs. Repeated calls of {@link wake} cost almost
 * nothing.
 */
export class JobRunner<Row extends Job, Made extends Attempt<Row>> {
  readonly #kind: JobKind<Row, Made>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #running = new Map<number, { attempt: Made; ended: Promise<void> }>()
  /** Ids of jobs whose outcome could not be stored. Their rows are out of date. */
  readonly #unrecorded = new Set<number>()
  /** Id of the last account read. The next query continues after this account, so that accounts take turns. */
  #lastAccount = ''
  #cancelTimer: () => void = () => undefined
  #querying = false
  #wakeAgain = false
  #stopped = false

  constructor(kind: JobKind<Row, Made>, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#kind = kind
    this.#clock = clock
    this.#logger = logger
  }

  get attempts(): Made[] {
    return [...this.#running.values()].map(({ attempt }) => attempt)
  }

  /** Returns the running attempt at a job; undefined if no attempt is running. */
  attempt(id: number): Made | undefined {
    return this.#running.get(id)?.attempt
  }

  /** Resolves when no attempt at the job is running. */
  async ended(id: number): Promise<void> {
    await this.#running.get(id)?.ended
  }

  /** Schedules a query for due jobs. Further calls before the query starts have no effect. */
  wake(): void {
    this.#wakeAgain = true
    if (this.#querying || this.#stopped) return
    this.#querying = true
    this.#cancelTimer()
    underName(this.#kind.name, () => this.#startDue())
      .catch((error: unknown) => {
        this.#logger.error({ err: error, jobs: this.#kind.name }, 'reading due jobs failed')
        return this.#clock.now() + RECHECK_MS
      })
      .then(next => {
        this.#querying = false
        if (this.#wakeAgain) this.wake()
        else this.#sleepUntil(next)
      })
  }

  /** Starts an attempt immediately. Returns false if the runner is full or stopped, or the job is already running. */
  start(attempt: Made): boolean {
    const { id } = attempt.job
    if (this.#stopped || this.#running.has(id) || this.#isFull()) return false
    const ended = underName(this.#kind.name, () => this.#run(attempt))
      .catch((error: unknown) => {
        this.#unrecorded.add(id)
        this.#logger.error({ err: error, job: id, jobs: this.#kind.name }, 'storing the outcome of a job failed')
      })
      .finally(() => {
        this.#running.delete(id)
        if (this.#unrecorded.has(id)) this.#sleepUntil(null)
        else this.wake()
      })
    this.#running.set(id, { attempt, ended })
    return true
  }

  /** Aborts all attempts. The rows of their jobs stay unchanged, so the next start of the node resumes the jobs. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { attempt } of this.#running.values()) {
      attempt.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    }
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Starts due jobs. Returns when to query again; null if no job is waiting. */
  async #startDue(): Promise<number | null> {
    const kind = this.#kind
    await nextTurn()
    this.#wakeAgain = false
    await this.#repeatUnrecorded()
    const next = await kind.nextDue()
    if (next === null || next > this.#clock.now()) return next
    // A pass may begin in the middle of the accounts, so only two passes are sure to reach every account. A job added
    // in the meantime schedules another query.
    for (let rounds = 0; rounds < 2 && !this.#stopped; ) {
      if (this.#isFull()) return this.#clock.now() + kind.fullMs
      // Running jobs can also be due. So the query reads as many additional jobs per account as there are running jobs.
      const { accounts, each } = kind.batch
      const query = { now: this.#clock.now(), after: this.#lastAccount, accounts, each: each + this.#running.size }
      const due = await kind.due(query)
      this.#lastAccount = due.last ?? ''
      if (due.last === null) rounds++
      for (const job of this.#byTurn(due.jobs)) {
        if (!this.start(kind.attempt(job))) break
        rounds = 0
      }
      await nextTurn()
    }
    const later = await kind.nextDue()
    return later === null ? null : Math.max(later, this.#clock.now() + RECHECK_MS)
  }

  async #repeatUnrecorded(): Promise<void> {
    for (const id of this.#unrecorded) {
      if (!this.#running.has(id)) await this.#kind.makeDue?.(id)
      this.#unrecorded.delete(id)
    }
  }

  #isFull(): boolean {
    return this.#kind.isFull(this.attempts)
  }

  #sleepUntil(next: number | null): void {
    this.#cancelTimer()
    if (this.#stopped) return
    const now = this.#clock.now()
    const ms = waitFor(next, now)
    const soon = this.#unrecorded.size > 0 ? Math.min(ms, RECHECK_MS) : ms
    this.#cancelTimer = this.#clock.after(soon, () => this.wake())
  }

  /**
   * Returns the due jobs that are not running. They are sorted so that an account with many jobs does not delay other
   * accounts.
   */
  #byTurn(due: readonly Row[]): Row[] {
    const counts = new Map<string, number>()
    const count = (accountId: string): number => {
      const before = counts.get(accountId) ?? 0
      counts.set(accountId, before + 1)
      return before
    }
    for (const { attempt } of this.#running.values()) count(attempt.job.accountId)
    const turns = due.filter(({ id }) => !this.#running.has(id)).map(job => ({ job, turn: count(job.accountId) }))
    return turns
      .filter(({ turn }) => turn < this.#kind.perAccount)
      .sort((a, b) => a.turn - b.turn)
      .map(({ job }) => job)
  }

  async #run(attempt: Made): Promise<void> {
    const begun = await this.#kind.begin(attempt)
    if (begun === undefined) return
    try {
      await attempt.run(begun)
    } catch (error) {
      if (this.#stopped) return
      const { firstMs, longestMs } = this.#kind.pauses
      const pause = Math.min(firstMs * 2 ** Math.min(begun.attempts - 1, 30), longestMs)
      await this.#kind.failed(attempt, begun, { error, retryAt: this.#clock.now() + pause })
    }
  }
}
