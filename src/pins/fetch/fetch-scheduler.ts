import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { StatusReason } from '../../domain/pin-status.ts'
import { type JobKind, JobRunner } from '../../jobs/job-runner.ts'
import type { BlockFetcher, FetchSession } from '../../network/block-fetcher.ts'
import { type AttemptParts, FetchAttempt } from './fetch-attempt.ts'

/** Attempts at a time to which blocks come. */
const ATTEMPTS_AT_ONCE = 64
/** One to which none came for this long makes room for others; it goes on until it stalls. */
const SLOW_MS = 5_000
/** Attempts at a time, the slow ones included. */
const MOST_ATTEMPTS = 1_024
/** Accounts that one look for what is due passes, and fetches of each. */
const ACCOUNTS_AT_ONCE = 64
const FETCHES_EACH = 16
/** At its first attempt those who have it may still be on their way here. */
const LINGER_MS = 5_000
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const MAX_ATTEMPTS = 10

/**
 * Works off the fetches, one attempt at each at a time, with whoever joins or leaves it meanwhile. What a restart
 * interrupts goes on.
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

  /** Begins with what earlier processes left. Without a fetcher nothing is attempted; records wait. */
  async start(fetcher: BlockFetcher): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    this.#fetcher = fetcher
    onChanges(await fetches.resume(clock.now()))
    this.wake()
  }

  /** Ends all attempts; their records stay as they are, to go on at the next start. */
  stop(): Promise<void> {
    return this.#runner.stop()
  }

  /** Looks for what is due: soon, and once for all who ask before that. */
  wake(): void {
    if (this.#fetcher !== null) this.#runner.wake()
  }

  /** The attempt under way for a fetch. */
  attempt(fetchId: number): FetchAttempt | undefined {
    return this.#runner.attempt(fetchId)
  }

  /** Resolves when the attempt under way for a fetch, if any, has ended. */
  ended(fetchId: number): Promise<void> {
    return this.#runner.ended(fetchId)
  }

  /** Starts a fetch at once with a session that has found its root. Without a free place it waits its turn. */
  async begin(fetchId: number, session: FetchSession): Promise<void> {
    const fetch = await this.#parts.fetches.get(fetchId)
    if (fetch !== undefined && this.#runner.start(new FetchAttempt(fetch, this.#parts, async () => session))) {
      // Of an attempt that nobody waits for any more it is not even asked.
      void this.ended(fetchId).finally(() => session.close())
      return
    }
    session.close()
    this.wake()
  }

  /**
   * As {@link subscribersChanged}, for records that have left already, which is done, whatever can be looked at now: a fetch
   * that nobody waits for is given up with its next attempt, or by a reconciliation.
   */
  async left(fetchId: number): Promise<void> {
    try {
      await this.subscribersChanged(fetchId)
    } catch (error) {
      this.#logger.warn({ err: error, fetch: fetchId }, 'a fetch could not be given up now')
    }
  }

  /** To be called when records have joined or left a fetch. */
  async subscribersChanged(fetchId: number): Promise<void> {
    const attempt = this.attempt(fetchId)
    if (attempt === undefined) {
      await this.#parts.fetches.dropIfUnneeded(fetchId)
      this.#parts.keepers.wake()
      return
    }
    const ended = this.ended(fetchId)
    await attempt.subscribersChanged()
    // It gives its blocks up once no more are on their way: a claim that comes later would never be released.
    if (attempt.isUnneeded) await ended
  }

  #kind(): JobKind<FetchRow, FetchAttempt> {
    const { fetches, clock, onChanges } = this.#parts
    return {
      name: 'fetches',
      pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
      look: { accounts: ACCOUNTS_AT_ONCE, each: FETCHES_EACH },
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
      again: id => fetches.dropOrRepeat(id, clock.now()),
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

  /** What the blocks count that an account's other fetches have brought so far, in bytes. */
  async #heldByOthers(accountId: string, fetchId: number): Promise<number> {
    let sum = 0
    for (const { id, charge } of await this.#parts.fetches.heldFor(accountId)) {
      if (id !== fetchId) sum += Math.max(charge, this.attempt(id)?.totals.charge ?? 0)
    }
    return sum
  }

  async #failed(attempt: FetchAttempt, begun: FetchRow, failure: { error: unknown; retryAt: number }): Promise<void> {
    const { fetches, clock, keepers, onChanges } = this.#parts
    if (attempt.isUnneeded) {
      await fetches.dropOrRepeat(begun.id, clock.now())
      return keepers.wake()
    }
    const reason = reasonOf(failure.error)
    const retryAt = isFinal(failure.error, begun.attempts) ? null : failure.retryAt
    this.#logger.warn({ cid: attempt.root.toString(), reason: reason.text, retryAt }, 'a fetch failed')
    // An attempt that ended before it had looked at what is here knows less than the one before.
    const { blocks, bytes, charge } = attempt.totals.blocks < begun.blocks ? begun : attempt.totals
    if (retryAt === null) {
      await keepers.placements.withdraw(begun.backendId, begun)
      keepers.wake()
    }
    onChanges(await fetches.fail(begun.id, { reason, retryAt, blocks, bytes, charge }, clock.now()))
  }
}

function reasonOf(error: unknown): StatusReason {
  const code = isHoldfastError(error) ? error.code : 'INTERNAL_ERROR'
  return { code, text: `${code}: ${isHoldfastError(error) ? error.message : 'the fetch failed'}` }
}

/** Whether another attempt would end like this one, or there were enough. */
function isFinal(error: unknown, attempts: number): boolean {
  const isLasting = isHoldfastError(error) && ['QUOTA_EXCEEDED', 'VALIDATION', 'INVALID_CID'].includes(error.code)
  return isLasting || attempts >= MAX_ATTEMPTS
}
