import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { Metrics } from '../../domain/metrics.ts'
import type { StatusReason } from '../../domain/pin-status.ts'
import { type JobKind, JobRunner } from '../../jobs/job-runner.ts'
import { Possessor } from '../../ledger/possessor.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { AttemptParts, attemptMaker, FetchAttempt, MakeAttempt, OpenSession } from './fetch-attempt.ts'
import type { PossessorFetcher } from './node-fetcher.ts'

const ATTEMPTS_AT_ONCE = 64
/** Time without a new block after which an attempt is slow, and no longer counts toward {@link ATTEMPTS_AT_ONCE}. */
const SLOW_MS = 5_000
/** Maximum number of running attempts, including slow attempts. */
const MOST_ATTEMPTS = 1_024
const ACCOUNTS_AT_ONCE = 64
const FETCHES_EACH = 16
/** Extends the provider search of a first attempt. A provider may still be connecting to this node. */
const LINGER_MS = 5_000
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const MAX_ATTEMPTS = 10

/** Runs the queued fetches, with one attempt at a time for each fetch. Records may join or leave a running attempt. */
export class FetchScheduler {
  readonly #parts: AttemptParts
  readonly #logger: Logger
  readonly #runner: JobRunner<FetchRow, FetchAttempt>
  #fetcher: PossessorFetcher | null = null
  #makeAttempt: MakeAttempt | null = null

  constructor(parts: Omit<AttemptParts, 'heldByOthers'>, logger: Logger, metrics?: Pick<Metrics, 'finished'>) {
    this.#parts = { ...parts, heldByOthers: (accountId, fetchId) => this.#heldByOthers(accountId, fetchId) }
    this.#logger = logger
    this.#runner = new JobRunner(this.#kind(), { clock: parts.clock, logger, metrics })
  }

  /** @param maker the code of attempts, which a node without network and other nodes does not load */
  async start(fetcher: PossessorFetcher, maker: typeof attemptMaker): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    this.#makeAttempt = maker(this.#parts)
    this.#fetcher = fetcher
    onChanges(await fetches.resume(clock.now()))
    this.wake()
  }

  /** Aborts all attempts. The records keep their status, and the next start resumes the fetches. */
  stop(): Promise<void> {
    return this.#runner.stop()
  }

  async unsettled(): Promise<string[]> {
    return this.#fetcher === null ? [] : this.#runner.unsettled()
  }

  wake(): void {
    if (this.#fetcher !== null) this.#runner.wake()
  }

  attempt(fetchId: number): FetchAttempt | undefined {
    return this.#runner.attempt(fetchId)
  }

  ended(fetchId: number): Promise<void> {
    return this.#runner.ended(fetchId)
  }

  /** Starts a fetch with a session that has already found the root. If no slot is free, the fetch is queued. */
  async begin(fetchId: number, session: FetchSession): Promise<void> {
    const fetch = await this.#parts.fetches.get(fetchId)
    if (fetch !== undefined && this.#runner.start(this.#attemptOf(fetch, async () => session))) {
      // An attempt that ends early may never use the session.
      void this.ended(fetchId).finally(() => session.close())
      return
    }
    session.close()
    this.wake()
  }

  /**
   * Calls {@link subscribersChanged}, but only logs errors. A later attempt or a reconciliation removes a fetch without
   * records.
   */
  async left(fetchId: number): Promise<void> {
    try {
      await this.subscribersChanged(fetchId)
    } catch (error) {
      this.#logger.warn({ err: error, fetch: fetchId }, 'a fetch without records could not be dropped')
    }
  }

  /** Updates a fetch after records have joined or left it. A fetch without records is removed. */
  async subscribersChanged(fetchId: number): Promise<void> {
    const attempt = this.attempt(fetchId)
    if (attempt === undefined) {
      await this.#drop(fetchId)
      this.#parts.fetchingBackends.wake()
      return
    }
    const ended = this.ended(fetchId)
    await attempt.subscribersChanged()
    // Wait until the attempt has released its blocks. A block claimed after the release would never be released.
    if (attempt.isUnneeded) await ended
  }

  async #drop(fetchId: number): Promise<void> {
    const { fetches, deletion } = this.#parts
    const known = deletion.isHeld ? await fetches.get(fetchId) : undefined
    await fetches.dropIfUnneeded(fetchId)
    if (known === undefined || (await fetches.get(fetchId)) !== undefined) return
    deletion.dropped(known.accountId, known.charge)
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
      attempt: fetch => this.#attemptOf(fetch, (signal, root) => this.#open(fetch, root, signal)),
      begin: async ({ job }) => {
        const started = await fetches.start(job.id, clock.now())
        onChanges(started?.changes ?? [])
        return started?.fetch
      },
      failed: (attempt, begun, failure) => this.#failed(attempt, begun, failure),
      makeDue: id => fetches.dropOrRepeat(id, clock.now()),
      trace: {
        kind: 'fetch',
        facts: ({ root, totals }, { attempts }) => ({
          cid: root.toString(),
          attempt: attempts,
          blocks: totals.blocks,
          bytes: totals.bytes,
        }),
      },
    }
  }

  #attemptOf(fetch: FetchRow, open: OpenSession): FetchAttempt {
    if (this.#makeAttempt === null) throw new HoldfastError('UNAVAILABLE', 'networking is off')
    return this.#makeAttempt(fetch, open)
  }

  #open(fetch: FetchRow, root: CID, signal: AbortSignal): Promise<FetchSession> {
    if (this.#fetcher === null) throw new HoldfastError('UNAVAILABLE', 'networking is off')
    const { origins, accountId, attempts } = fetch
    const whose = { by: new Possessor(fetch.possessor, this.#parts.clock), owner: accountId }
    return this.#fetcher.open(root, { origins, ...whose, signal, lingerMs: attempts === 0 ? LINGER_MS : 0 })
  }

  #isFull(running: readonly FetchAttempt[]): boolean {
    if (running.length < ATTEMPTS_AT_ONCE) return false
    if (running.length >= MOST_ATTEMPTS) return true
    const since = this.#parts.clock.now() - SLOW_MS
    return running.filter(({ movedAt }) => movedAt > since).length >= ATTEMPTS_AT_ONCE
  }

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
      this.#parts.deletion.dropped(begun.accountId, attempt.totals.charge)
      await fetches.dropOrRepeat(begun.id, clock.now())
      return fetchingBackends.wake()
    }
    const reason = reasonOf(failure.error)
    const retryAt = isFinal(failure.error, begun.attempts) ? null : failure.retryAt
    this.#logger.warn({ cid: attempt.root.toString(), reason: reason.text, retryAt }, 'a fetch failed')
    // If an attempt fails before it has counted the stored blocks, keep the earlier totals.
    const { blocks, bytes, charge } = attempt.totals.blocks < begun.blocks ? begun : attempt.totals
    if (retryAt === null) {
      this.#parts.deletion.dropped(begun.accountId, charge)
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

function isFinal(error: unknown, attempts: number): boolean {
  const isLasting = isHoldfastError(error) && ['QUOTA_EXCEEDED', 'VALIDATION', 'INVALID_CID'].includes(error.code)
  return isLasting || attempts >= MAX_ATTEMPTS
}
