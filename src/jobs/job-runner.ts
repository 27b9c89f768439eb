import { type Tracing, traced } from '../concurrency/traced.ts'
import { nextTurn } from '../concurrency/turns.ts'
import { type Settling, WokenWork } from '../concurrency/woken-work.ts'
import { currentRequest, underName } from '../concurrency/work.ts'
import { type Clock, isPast, waitFor } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import type { FinishedWork } from '../domain/metrics.ts'

export interface Job {
  id: number
  accountId: string
  attempts: number
}

export interface Attempt<Row extends Job> {
  readonly job: Row
  /**
   * Runs the attempt. If this rejects, the runner retries the job later.
   *
   * @param begun the row of the job, which already counts this attempt
   */
  run(begun: Row): Promise<void>
  abort(reason: HoldfastError): void
}

/** How to read, update and run one kind of job. Times are milliseconds since the epoch. */
export interface JobKind<Row extends Job, Made extends Attempt<Row>> {
  /** Name in the log and in the warnings of the event-loop watch. */
  name: string
  /** Pauses before retries: `firstMs`, doubled after each further failure, up to `longestMs`. */
  pauses: { firstMs: number; longestMs: number }
  /** Maximum number of accounts per query, and of jobs per account in addition to the running jobs. */
  batch: { accounts: number; each: number }
  /** Maximum number of concurrent attempts for one account. */
  perAccount: number
  /** Time until a full runner queries again. The end of an attempt triggers a query earlier. */
  fullMs: number
  /**
   * Returns due jobs of up to `accounts` accounts whose ids follow `after`, at most `each` jobs per account, in the
   * order of the account ids.
   *
   * @returns the jobs, and in `last` the last account read; null if no account follows
   */
  due(query: {
    now: number
    after: string
    accounts: number
    each: number
  }): Promise<{ jobs: Row[]; last: string | null }>
  nextDue(): Promise<number | null>
  isFull(running: Iterable<Made>): boolean
  attempt(job: Row): Made
  /** Counts an attempt and returns the row of the job; undefined if the job needs no more work. */
  begin(attempt: Made): Promise<Row | undefined>
  failed(attempt: Made, begun: Row, failure: { error: unknown; retryAt: number }): Promise<void>
  /**
   * Makes a job due after the start or the end of its attempt could not be stored.
   * Undefined for a kind whose jobs stay due until their end is stored.
   */
  makeDue?(id: number): Promise<void>
  /** How to trace an attempt. Default: it is not traced. */
  trace?: { kind: FinishedWork['kind']; facts(attempt: Made, begun: Row): FinishedWork['facts'] }
}

/** Time until the next query after a failure, or while a due job is already running. */
const RECHECK_MS = 1_000

/**
 * Runs due jobs, with exponential backoff after failures. The account with the fewest running attempts goes first.
 * The cost of a query does not depend on the number of due jobs.
 */
export class JobRunner<Row extends Job, Made extends Attempt<Row>> implements Settling {
  readonly #kind: JobKind<Row, Made>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #tracing: Tracing
  readonly #running = new Map<number, { attempt: Made; ended: Promise<void> }>()
  /** Ids of jobs whose outcome could not be stored. */
  readonly #unrecorded = new Set<number>()
  /** The next query continues after this account. */
  #lastAccount = ''
  #cancelTimer: () => void = () => undefined
  readonly #queries: WokenWork
  #stopped = false

  constructor(kind: JobKind<Row, Made>, { clock, logger, metrics }: Tracing & { logger: Logger }) {
    this.#kind = kind
    this.#clock = clock
    this.#logger = logger
    this.#tracing = { clock, metrics }
    const failed = (error: unknown): void => {
      logger.error({ err: error, jobs: kind.name }, 'reading due jobs failed')
      this.#sleepUntil(clock.now() + RECHECK_MS)
    }
    const isDue = async (): Promise<boolean> => this.#running.size > 0 || isPast(await kind.nextDue(), clock.now())
    const start = async (): Promise<void> => this.#sleepUntil(await this.#startDue())
    this.#queries = new WokenWork(start, { name: kind.name, isDue, failed })
  }

  get attempts(): Made[] {
    return [...this.#running.values()].map(({ attempt }) => attempt)
  }

  attempt(id: number): Made | undefined {
    return this.#running.get(id)?.attempt
  }

  /** Resolves when no attempt at the job is running. */
  async ended(id: number): Promise<void> {
    await this.#running.get(id)?.ended
  }

  /** Schedules a query for due jobs. Further calls before the query starts have no effect. */
  wake(): void {
    this.#cancelTimer()
    this.#queries.wake()
  }

  unsettled(): Promise<string[]> {
    return this.#queries.unsettled()
  }

  /** Returns false if the runner is full or stopped, or the job is already running. */
  start(attempt: Made): boolean {
    const { id } = attempt.job
    if (this.#stopped || this.#running.has(id) || this.#isFull()) return false
    const ended = underName(this.#kind.name, () => this.#run(attempt), currentRequest())
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

  /** Aborts all attempts without changing their rows, so the next start of the node resumes the jobs. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { attempt } of this.#running.values()) {
      attempt.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    }
    await Promise.allSettled([this.#queries.stop(), ...[...this.#running.values()].map(({ ended }) => ended)])
  }

  /** Starts due jobs and returns when to query again. */
  async #startDue(): Promise<number | null> {
    const kind = this.#kind
    await this.#repeatUnrecorded()
    const next = await kind.nextDue()
    if (!isPast(next, this.#clock.now())) return next
    // A pass may begin in the middle of the accounts. Without a complete pass, only two passes reach every account.
    for (let rounds = 0; rounds < 2 && !this.#stopped; ) {
      if (this.#isFull()) return this.#clock.now() + kind.fullMs
      // Running jobs can also be due, so the query reads as many more jobs per account.
      const { accounts, each } = kind.batch
      const query = { now: this.#clock.now(), after: this.#lastAccount, accounts, each: each + this.#running.size }
      const due = await kind.due(query)
      this.#lastAccount = due.last ?? ''
      if (due.last === null) rounds++
      const hasAll = query.after === '' && due.last === null && !isCut(due.jobs, query.each)
      for (const job of this.#byTurn(due.jobs)) {
        if (!this.start(kind.attempt(job))) break
        rounds = 0
      }
      if (hasAll && !this.#isFull()) break
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

  /** Returns the due jobs that are not running, sorted so that accounts take turns. */
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
      await this.#traced(attempt, begun)
    } catch (error) {
      if (this.#stopped) return
      const { firstMs, longestMs } = this.#kind.pauses
      const pause = Math.min(firstMs * 2 ** Math.min(begun.attempts - 1, 30), longestMs)
      await this.#kind.failed(attempt, begun, { error, retryAt: this.#clock.now() + pause })
    }
  }

  #traced(attempt: Made, begun: Row): Promise<void> {
    const { trace } = this.#kind
    if (trace === undefined) return attempt.run(begun)
    return traced(
      trace.kind,
      this.#tracing,
      () => attempt.run(begun),
      () => trace.facts(attempt, begun),
    )
  }
}

/** Returns whether a query returned as many jobs of an account as its limit, so that the account may have more. */
function isCut(jobs: readonly Job[], each: number): boolean {
  return [...Map.groupBy(jobs, ({ accountId }) => accountId).values()].some(({ length }) => length >= each)
}
