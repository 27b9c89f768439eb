import { nextTurn } from '../concurrency/turns.ts'
import { underName } from '../concurrency/work.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** A stored unit of work. */
export interface Job {
  id: number
  /** The account that attempts count against. Accounts take turns. */
  accountId: string
  attempts: number
}

/** One attempt at a job, in this process. */
export interface Attempt<Row extends Job> {
  readonly job: Row
  /**
   * Runs the attempt. If it throws, the runner retries the job later.
   * @param begun the row after the attempt was counted
   */
  run(begun: Row): Promise<void>
  abort(reason: HoldfastError): void
}

/**
 * One kind of job: how its rows are read and updated, and how its attempts run. Times are milliseconds since the epoch.
 */
export interface JobKind<Row extends Job, Made extends Attempt<Row>> {
  /** Name of the kind in the log and in the event-loop watch. */
  name: string
  /** Backoff in milliseconds: the pause after the first attempt, doubled after each failure, up to the longest. */
  pauses: { firstMs: number; longestMs: number }
  /** How many accounts one query covers, and how many jobs of each it reads in addition to the running ones. */
  batch: { accounts: number; each: number }
  /** Maximum number of attempts that run at a time for one account. */
  perAccount: number
  /**
   * How long a full runner waits before it checks for room again, in milliseconds. An attempt that ends wakes it
   * earlier.
   */
  fullMs: number
  /**
   * Reads due jobs, at most `each` per account, of the next `accounts` accounts by id, after the account `after`.
   *
   * @returns also the last account read; null if no account follows
   */
  due(query: {
    now: number
    after: string
    accounts: number
    each: number
  }): Promise<{ jobs: Row[]; last: string | null }>
  /** Returns when the next job is due; null if none is. */
  nextDue(): Promise<number | null>
  /** Returns whether the running attempts leave no room for another. */
  isFull(running: Iterable<Made>): boolean
  attempt(job: Row): Made
  /** Counts an attempt. Returns undefined if the job needs no work any more. */
  begin(attempt: Made): Promise<Row | undefined>
  /** Stores the failure of an attempt, and when to retry it. */
  failed(attempt: Made, begun: Row, failure: { error: unknown; retryAt: number }): Promise<void>
  /**
   * Makes a job due again. The runner calls it if it could not store that an attempt began or ended, so the row may
   * wrongly say that an attempt runs. Absent if jobs of the kind stay due until their end is stored.
   */
  makeDue?(id: number): Promise<void>
}

/** Pause after a failed query, and between queries while a due job already runs, in milliseconds. */
const RECHECK_MS = 1_000

/**
 * Runs jobs when they are due, and retries failed attempts with exponential backoff. The account with the fewest
 * running attempts goes first. Queries are short however many jobs are due, and waking the runner costs nothing.
 */
export class JobRunner<Row extends Job, Made extends Attempt<Row>> {
  readonly #kind: JobKind<Row, Made>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #running = new Map<number, { attempt: Made; ended: Promise<void> }>()
  /** Jobs whose outcome could not be stored, so their rows are out of date. */
  readonly #unrecorded = new Set<number>()
  /** The last account read. The next query continues after it, so accounts take turns. */
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

  /** Returns the running attempt at a job. */
  attempt(id: number): Made | undefined {
    return this.#running.get(id)?.attempt
  }

  /** Resolves when no attempt at the job is running. */
  async ended(id: number): Promise<void> {
    await this.#running.get(id)?.ended
  }

  /** Schedules one query for due jobs. Calls before it starts share it. */
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

  /** Starts an attempt immediately. Returns false if there is no room or the job is already running. */
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

  /** Aborts all attempts. Their rows stay unchanged, so the next start resumes them. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { attempt } of this.#running.values()) {
      attempt.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    }
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Starts due jobs. Returns when to query again; null if no time is set. */
  async #startDue(): Promise<number | null> {
    const kind = this.#kind
    await nextTurn()
    this.#wakeAgain = false
    await this.#repeatUnrecorded()
    const next = await kind.nextDue()
    if (next === null || next > this.#clock.now()) return next
    // Two passes reach every account even if the first began in the middle. A job added meanwhile schedules another
    // query.
    for (let rounds = 0; rounds < 2 && !this.#stopped; ) {
      if (this.#isFull()) return this.#clock.now() + kind.fullMs
      // Running jobs can be due as well, so the query asks for that many more.
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

  /** Returns the jobs that do not run yet, ordered so that an account with many jobs does not delay the others. */
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
