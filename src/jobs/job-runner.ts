import { nextTurn } from '../concurrency/turns.ts'
import { underName } from '../concurrency/work.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** A row that says what is to be done. */
export interface Job {
  id: number
  /** Whose turn it is. */
  accountId: string
  attempts: number
}

/** One attempt at a job, in this process. */
export interface Attempt<Row extends Job> {
  readonly job: Row
  /** @param begun the row as it is once the attempt counts. @throws why it is to be repeated */
  run(begun: Row): Promise<void>
  abort(reason: HoldfastError): void
}

/** Jobs that are worked off together. Times are milliseconds since the epoch. */
export interface JobKind<Row extends Job, Made extends Attempt<Row>> {
  /** What they are called where the loop is watched, and in the log. */
  name: string
  /** The pause after the first attempt, which doubles with each, and the longest, in milliseconds. */
  pauses: { firstMs: number; longestMs: number }
  /** Accounts that one look passes, and jobs of each beside those that run. */
  look: { accounts: number; each: number }
  /** Attempts for one account at a time. */
  perAccount: number
  /** After which time a full runner may have room without an attempt having ended, in milliseconds. */
  fullMs: number
  /**
   * What is due: of some accounts, in the order of their ids from the one after `after` on, some each.
   *
   * @returns also the last account looked at; null once there is none beyond
   */
  due(query: {
    now: number
    after: string
    accounts: number
    each: number
  }): Promise<{ jobs: Row[]; last: string | null }>
  /** When the next is due; null if none is. */
  nextDue(): Promise<number | null>
  /** Whether what runs leaves no room. */
  isFull(running: Iterable<Made>): boolean
  attempt(job: Row): Made
  /** Counts an attempt. Undefined if there is nothing to do any more. */
  begin(attempt: Made): Promise<Row | undefined>
  /** Notes that an attempt has failed, and when it is to be repeated. */
  failed(attempt: Made, begun: Row, failure: { error: unknown; retryAt: number }): Promise<void>
  /**
   * Has a job be due again whose attempt could not be begun, or its end not be recorded, and which may be noted as under
   * way. Absent where a job is due until its end is recorded.
   */
  again?(id: number): Promise<void>
}

/** After a look that failed, and between looks while something that is due runs already. */
const LOOK_AGAIN_MS = 1_000

/**
 * Works jobs off: attempts start when they are due, the account with the fewest running first, and are repeated with
 * growing pauses. However many are due, one look for them is short, and asking for it costs nothing.
 */
export class JobRunner<Row extends Job, Made extends Attempt<Row>> {
  readonly #kind: JobKind<Row, Made>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #running = new Map<number, { attempt: Made; ended: Promise<void> }>()
  /** Jobs of which is noted something else than has become of them. */
  readonly #unrecorded = new Set<number>()
  /** The last account that was looked at: accounts take turns. */
  #lastAccount = ''
  #cancelTimer: () => void = () => undefined
  #looking = false
  #lookAgain = false
  #stopped = false

  constructor(kind: JobKind<Row, Made>, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#kind = kind
    this.#clock = clock
    this.#logger = logger
  }

  get attempts(): Made[] {
    return [...this.#running.values()].map(({ attempt }) => attempt)
  }

  /** The attempt under way at a job. */
  attempt(id: number): Made | undefined {
    return this.#running.get(id)?.attempt
  }

  /** Resolves when the attempt under way at a job, if any, has ended. */
  async ended(id: number): Promise<void> {
    await this.#running.get(id)?.ended
  }

  /** Looks for what is due: soon, and once for all who ask before that. */
  wake(): void {
    this.#lookAgain = true
    if (this.#looking || this.#stopped) return
    this.#looking = true
    this.#cancelTimer()
    underName(this.#kind.name, () => this.#look())
      .catch((error: unknown) => {
        this.#logger.error({ err: error, jobs: this.#kind.name }, 'looking for what is due failed')
        return this.#clock.now() + LOOK_AGAIN_MS
      })
      .then(next => {
        this.#looking = false
        if (this.#lookAgain) this.wake()
        else this.#sleepUntil(next)
      })
  }

  /** Starts an attempt at once. Returns false if there is no room, or one under way. */
  start(attempt: Made): boolean {
    const { id } = attempt.job
    if (this.#stopped || this.#running.has(id) || this.#isFull()) return false
    const ended = underName(this.#kind.name, () => this.#run(attempt))
      .catch((error: unknown) => {
        this.#unrecorded.add(id)
        this.#logger.error({ err: error, job: id, jobs: this.#kind.name }, 'what became of a job could not be recorded')
      })
      .finally(() => {
        this.#running.delete(id)
        if (this.#unrecorded.has(id)) this.#sleepUntil(null)
        else this.wake()
      })
    this.#running.set(id, { attempt, ended })
    return true
  }

  /** Ends all attempts; their jobs stay as they are, to go on at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { attempt } of this.#running.values()) {
      attempt.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    }
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Starts what is due. Returns when to look again; null for no set time. */
  async #look(): Promise<number | null> {
    const kind = this.#kind
    await nextTurn()
    this.#lookAgain = false
    await this.#repeatUnrecorded()
    const next = await kind.nextDue()
    if (next === null || next > this.#clock.now()) return next
    // From the last account round to itself; those that come in meanwhile ask for another look.
    for (let rounds = 0; rounds < 2 && !this.#stopped; ) {
      if (this.#isFull()) return this.#clock.now() + kind.fullMs
      // Those that run may be among those that are due.
      const { accounts, each } = kind.look
      const query = { now: this.#clock.now(), after: this.#lastAccount, accounts, each: each + this.#running.size }
      const due = await kind.due(query)
      this.#lastAccount = due.last ?? ''
      if (due.last === null) rounds++
      for (const job of this.#inTurn(due.jobs)) {
        if (!this.start(kind.attempt(job))) break
        rounds = 0
      }
      await nextTurn()
    }
    const later = await kind.nextDue()
    return later === null ? null : Math.max(later, this.#clock.now() + LOOK_AGAIN_MS)
  }

  async #repeatUnrecorded(): Promise<void> {
    for (const id of this.#unrecorded) {
      if (!this.#running.has(id)) await this.#kind.again?.(id)
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
    const soon = this.#unrecorded.size > 0 ? Math.min(ms, LOOK_AGAIN_MS) : ms
    this.#cancelTimer = this.#clock.after(soon, () => this.wake())
  }

  /** Those that are not running, ordered so that no account waits for another's many. */
  #inTurn(due: readonly Row[]): Row[] {
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
