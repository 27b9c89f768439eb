import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { StatusReason } from '../../domain/pin-status.ts'
import { type JobKind, JobRunner } from '../../jobs/job-runner.ts'
import type { BlockFetcher, FetchSession } from '../../network/block-fetcher.ts'
import { type AttemptParts, FetchAttempt } from './fetch-attempt.ts'

/** Maximum number of attempts that receive blocks at the same time. */
const ATTEMPTS_AT_ONCE = 64
/**
 * An attempt without a new block for this long no longer counts toward `ATTEMPTS_AT_ONCE`. It continues until it
 * stalls.
 */
const SLOW_MS = 5_000
/** Limit of all attempts at the same time, slow ones included. */
const MOST_ATTEMPTS = 1_024
/** Accounts in one query for due fetches, and fetches of each. */
const ACCOUNTS_AT_ONCE = 64
const FETCHES_EACH = 16
/** Extra time of a first attempt to find providers. They may still be connecting to this node. */
const LINGER_MS = 5_000
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const MAX_ATTEMPTS = 10

/**
 * Runs the queued fetches, at most one attempt at each. Records may join or leave a running attempt. A restart resumes
 * unfinished fetches.
 */
export class FetchScheduler {
  readonly #parts: AttemptParts
  readonly #logger: Logger
  readonly #runner: JobRunner<FetchRow, FetchAttempt>
  #fetcher: BlockFetcher | null = null

  constructor(parts: Omit<AttemptParts, 'heldByOthers'>, logger: Logger) {
    this.#parts = { ...parts, heldByOthers: (accountId, fetchId) => this.#heldByOthers(accountId, fetchId) }
    this.#logger = logger
    this.#runner = new JobRunner(this.#kind(), { clock: parts.clock, logger })
  }

  /** Starts with the fetches of earlier processes. Before it is called, fetches wait. */
  async start(fetcher: BlockFetcher): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    this.#fetcher = fetcher
    onChanges(await fetches.resume(clock.now()))
    this.wake()
  }

  /** Aborts all attempts. Their records keep their status, and the next start resumes them. */
  stop(): Promise<void> {
    return this.#runner.stop()
  }

  /** Schedules a query for due fetches. Several calls share one query. */
  wake(): void {
    if (this.#fetcher !== null) this.#runner.wake()
  }

  /** Returns the running attempt of a fetch. */
  attempt(fetchId: number): FetchAttempt | undefined {
    return this.#runner.attempt(fetchId)
  }

  /** Waits for the running attempt of a fetch, if any, to end. */
  ended(fetchId: number): Promise<void> {
    return this.#runner.ended(fetchId)
  }

  /** Starts a fetch immediately, with a session that has found its root. If no slot is free, the fetch is queued. */
  async begin(fetchId: number, session: FetchSession): Promise<void> {
    const fetch = await this.#parts.fetches.get(fetchId)
    if (fetch !== undefined && this.#runner.start(new FetchAttempt(fetch, this.#parts, async () => session))) {
      // An attempt that ends early may never take the session, so it is closed in every case.
      void this.ended(fetchId).finally(() => session.close())
      return
    }
    session.close()
    this.wake()
  }

  /**
   * Handles records that have left a fetch, like {@link subscribersChanged}, but only logs errors. The records are
   * already removed, and a later attempt or a reconciliation drops a fetch without records.
   */
  async left(fetchId: number): Promise<void> {
    try {
      await this.subscribersChanged(fetchId)
    } catch (error) {
      this.#logger.warn({ err: error, fetch: fetchId }, 'a fetch without records could not be dropped')
    }
  }

  /** Call this when records have joined or left a fetch. */
  async subscribersChanged(fetchId: number): Promise<void> {
    const attempt = this.attempt(fetchId)
    if (attempt === undefined) {
      await this.#parts.fetches.dropIfUnneeded(fetchId)
      this.#parts.fetchingBackends.wake()
      return
    }
    const ended = this.ended(fetchId)
    await attempt.subscribersChanged()
    // Wait for the attempt to release its blocks. A block claimed after that would never be released.
    if (attempt.isUnneeded) await ended
  }

  #kind(): JobKind<FetchRow, FetchAttempt> {
    const { fetches, clock, onChanges } = this.#parts
    return {
      name: 'fetches',
      pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
      batch: { accounts: ACCOUNTS_AT_ONCE, each: FETCHES_EACH },
      perAccount: MOST_ATTEMPTS,
      fullMs: SLOW_MS,
      due: query => fetches.due(query),
      nextDue: () => fetches.nextDue(),
      isFull: running => this.#isFull([...running]),
      attempt: fetch => new FetchAttempt(fetch, this.#parts, (signal, root) => this.#open(fetch, root, signal)),
      begin: async ({ job }) => {
        const started = await fetches.start(job.id, clock.now())
        onChanges(started?.changes ?? [])
        return started?.fetch
      },
      failed: (attempt, begun, failure) => this.#failed(attempt, begun, failure),
      makeDue: id => fetches.dropOrRepeat(id, clock.now()),
    }
  }

  #open(fetch: FetchRow, root: CID, signal: AbortSignal): Promise<FetchSession> {
    if (this.#fetcher === null) throw new HoldfastError('UNAVAILABLE', 'networking is off')
    const { origins, accountId: owner, attempts } = fetch
    return this.#fetcher.open(root, { origins, owner, signal, lingerMs: attempts === 0 ? LINGER_MS : 0 })
  }

  #isFull(running: readonly FetchAttempt[]): boolean {
    if (running.length < ATTEMPTS_AT_ONCE) return false
    if (running.length >= MOST_ATTEMPTS) return true
    const since = this.#parts.clock.now() - SLOW_MS
    return running.filter(({ movedAt }) => movedAt > since).length >= ATTEMPTS_AT_ONCE
  }

  /** Returns the bytes that an account's other fetches have stored so far. */
  async #heldByOthers(accountId: string, fetchId: number): Promise<number> {
    let sum = 0
    for (const { id, charge } of await this.#parts.fetches.heldFor(accountId)) {
      if (id !== fetchId) sum += Math.max(charge, this.attempt(id)?.totals.charge ?? 0)
    }
    return sum
  }

  async #failed(attempt: FetchAttempt, begun: FetchRow, failure: { error: unknown; retryAt: number }): Promise<void> {
    const { fetches, clock, fetchingBackends, onChanges } = this.#parts
    if (attempt.isUnneeded) {
      await fetches.dropOrRepeat(begun.id, clock.now())
      return fetchingBackends.wake()
    }
    const reason = reasonOf(failure.error)
    const retryAt = isFinal(failure.error, begun.attempts) ? null : failure.retryAt
    this.#logger.warn({ cid: attempt.root.toString(), reason: reason.text, retryAt }, 'a fetch failed')
    // An attempt that failed before it counted the stored blocks knows less than the one before.
    const { blocks, bytes, charge } = attempt.totals.blocks < begun.blocks ? begun : attempt.totals
    if (retryAt === null) {
      await fetchingBackends.placements.withdraw(begun.backendId, begun)
      fetchingBackends.wake()
    }
    onChanges(await fetches.fail(begun.id, { reason, retryAt, blocks, bytes, charge }, clock.now()))
  }
}

function reasonOf(error: unknown): StatusReason {
  const code = isHoldfastError(error) ? error.code : 'INTERNAL_ERROR'
  return { code, text: `${code}: ${isHoldfastError(error) ? error.message : 'the fetch failed'}` }
}

/** Returns true if another attempt would fail the same way, or the limit of attempts is reached. */
function isFinal(error: unknown, attempts: number): boolean {
  const isLasting = isHoldfastError(error) && ['QUOTA_EXCEEDED', 'VALIDATION', 'INVALID_CID'].includes(error.code)
  return isLasting || attempts >= MAX_ATTEMPTS
}
