import type { FetchRow } from '../catalogue/fetches.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { waitFor } from '../domain/clock.ts'
import { nextTurn } from '../domain/concurrency/turns.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import type { StatusReason } from '../domain/pin-status.ts'
import { underName } from '../domain/work.ts'
import type { BlockFetcher, FetchSession } from '../network/block-fetcher.ts'
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
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const MAX_ATTEMPTS = 10

interface Running {
  attempt: FetchAttempt
  ended: Promise<void>
}

/**
 * Works off the fetches: attempts start when they are due, the account with the fewest running first, and are
 * repeated with growing pauses. What a restart interrupts goes on. However many are due, one look for them is short,
 * and asking for it costs nothing.
 */
export class FetchScheduler {
  readonly #parts: AttemptParts
  readonly #clusters: ClusterRegistry
  readonly #logger: Logger
  readonly #running = new Map<number, Running>()
  #fetcher: BlockFetcher | null = null
  #cancelTimer: () => void = () => undefined
  #stopped = false
  #looking = false
  #lookAgain = false
  /** The last account that was looked at: accounts take turns. */
  #lastAccount = ''

  constructor(parts: Omit<AttemptParts, 'heldByOthers'>, clusters: ClusterRegistry, logger: Logger) {
    this.#parts = { ...parts, heldByOthers: (accountId, fetchId) => this.#heldByOthers(accountId, fetchId) }
    this.#clusters = clusters
    this.#logger = logger
  }

  /** Begins with what earlier processes left. Without a fetcher nothing is attempted; records wait. */
  async start(fetcher: BlockFetcher): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    this.#fetcher = fetcher
    onChanges(await fetches.resume(clock.now()))
    this.wake()
  }

  /** Ends all attempts; their records stay as they are, to go on at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { attempt } of this.#running.values())
      attempt.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    await Promise.allSettled([...this.#running.values()].map(running => running.ended))
  }

  /** The attempt under way for a fetch. */
  attempt(fetchId: number): FetchAttempt | undefined {
    return this.#running.get(fetchId)?.attempt
  }

  /** Resolves when the attempt under way for a fetch, if any, has ended. */
  async ended(fetchId: number): Promise<void> {
    await this.#running.get(fetchId)?.ended
  }

  /** Starts a fetch at once with a session that has found its root. Without a free place it waits its turn. */
  async begin(fetchId: number, session: FetchSession): Promise<void> {
    const fetch = await this.#parts.fetches.get(fetchId)
    const isFree = !this.#isFull() && !this.#running.has(fetchId) && !this.#stopped
    if (fetch !== undefined && isFree) {
      this.#run(fetch, async () => session)
    } else {
      session.close()
      this.wake()
    }
  }

  /** To be called when records have joined or left a fetch. */
  async subscribersChanged(fetchId: number): Promise<void> {
    const running = this.#running.get(fetchId)
    if (running === undefined) {
      await this.#parts.fetches.dropIfUnneeded(fetchId)
      return
    }
    await running.attempt.subscribersChanged()
    // It gives its blocks up once no more are on their way: a claim that comes later would never be released.
    if (running.attempt.isUnneeded) await running.ended
  }

  /** Looks for what is due: soon, and once for all who ask before that. */
  wake(): void {
    this.#lookAgain = true
    if (this.#looking || this.#stopped || this.#fetcher === null) return
    this.#looking = true
    this.#cancelTimer()
    underName('fetches', () => this.#look())
      .catch((error: unknown) => {
        this.#logger.error({ err: error }, 'looking for what is to be fetched failed')
        return this.#parts.clock.now() + SLOW_MS
      })
      .then(next => {
        this.#looking = false
        if (this.#lookAgain) this.wake()
        else this.#sleepUntil(next)
      })
  }

  /** Starts what is due. Returns when to look again; null for no set time. */
  async #look(): Promise<number | null> {
    const { clock, fetches } = this.#parts
    const fetcher = this.#fetcher
    await nextTurn()
    this.#lookAgain = false
    const next = await fetches.nextDue()
    if (next === null || next > clock.now()) return next
    // From the last account round to itself; those that come in meanwhile ask for another look.
    for (let rounds = 0; rounds < 2 && fetcher !== null && !this.#stopped; ) {
      if (this.#isFull()) return clock.now() + SLOW_MS
      const query = { now: clock.now(), after: this.#lastAccount, accounts: ACCOUNTS_AT_ONCE, each: FETCHES_EACH }
      const due = await fetches.due(query)
      this.#lastAccount = due.last ?? ''
      if (due.last === null) rounds++
      for (const fetch of this.#inTurn(due.fetches)) {
        if (this.#isFull() || this.#stopped) break
        const { origins, accountId: owner } = fetch
        this.#run(fetch, (signal, root) => fetcher.open(root, { origins, owner, signal }))
        rounds = 0
      }
      await nextTurn()
    }
    return fetches.nextDue()
  }

  #sleepUntil(next: number | null): void {
    const { clock } = this.#parts
    this.#cancelTimer()
    if (!this.#stopped) this.#cancelTimer = clock.after(waitFor(next, clock.now()), () => this.wake())
  }

  #isFull(): boolean {
    if (this.#running.size < ATTEMPTS_AT_ONCE) return false
    if (this.#running.size >= MOST_ATTEMPTS) return true
    const since = this.#parts.clock.now() - SLOW_MS
    let moving = 0
    for (const { attempt } of this.#running.values()) if (attempt.movedAt > since) moving++
    return moving >= ATTEMPTS_AT_ONCE
  }

  /** What the blocks count that an account's other fetches have brought so far, in bytes. */
  async #heldByOthers(accountId: string, fetchId: number): Promise<number> {
    let sum = 0
    for (const { id, charge } of await this.#parts.fetches.heldFor(accountId)) {
      if (id !== fetchId) sum += Math.max(charge, this.attempt(id)?.totals.charge ?? 0)
    }
    return sum
  }

  /** Those that are not running, ordered so that no account waits for another's many. */
  #inTurn(due: FetchRow[]): FetchRow[] {
    const counts = new Map<string, number>()
    for (const { attempt } of this.#running.values()) {
      const { accountId } = attempt.fetch
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
    }
    const turns = due
      .filter(fetch => !this.#running.has(fetch.id))
      .map(fetch => {
        const turn = counts.get(fetch.accountId) ?? 0
        counts.set(fetch.accountId, turn + 1)
        return { fetch, turn }
      })
    return turns.sort((a, b) => a.turn - b.turn).map(({ fetch }) => fetch)
  }

  #run(fetch: FetchRow, open: (signal: AbortSignal, root: FetchAttempt['root']) => Promise<FetchSession>): void {
    const attempt = new FetchAttempt(fetch, this.#parts)
    const ended = underName('fetches', () => this.#attempt(attempt, signal => open(signal, attempt.root)))
      .catch((error: unknown) => this.#logger.error({ err: error, fetch: fetch.id }, 'a fetch could not be recorded'))
      .finally(() => {
        this.#running.delete(fetch.id)
        this.wake()
      })
    this.#running.set(fetch.id, { attempt, ended })
  }

  async #attempt(attempt: FetchAttempt, open: (signal: AbortSignal) => Promise<FetchSession>): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    const { id, backendId } = attempt.fetch
    const started = await fetches.start(id, clock.now())
    if (started === undefined) return
    onChanges(started.changes)
    const backend = this.#clusters.backends.find(candidate => candidate.id === backendId)
    try {
      if (backend === undefined) throw new HoldfastError('UNAVAILABLE', 'the backend of the cluster is not configured')
      await attempt.run(backend, open)
    } catch (error) {
      if (this.#stopped) return
      if (attempt.isUnneeded) return fetches.dropOrRepeat(id, clock.now())
      const reason = reasonOf(error)
      const now = clock.now()
      const retryAt = retryTime(error, started.fetch.attempts, now)
      this.#logger.warn({ cid: attempt.root.toString(), reason: reason.text, retryAt }, 'a fetch failed')
      // An attempt that ended before it had looked at what is here knows less than the one before.
      const { blocks, bytes, charge } = attempt.totals.blocks < started.fetch.blocks ? started.fetch : attempt.totals
      onChanges(await fetches.fail(id, { reason, retryAt, blocks, bytes, charge }, now))
    }
  }
}

function reasonOf(error: unknown): StatusReason {
  const code = isHoldfastError(error) ? error.code : 'INTERNAL_ERROR'
  return { code, text: `${code}: ${isHoldfastError(error) ? error.message : 'the fetch failed'}` }
}

/** When to try again; null if another attempt would end like this one. */
function retryTime(error: unknown, attempts: number, now: number): number | null {
  const isFinal = isHoldfastError(error) && ['QUOTA_EXCEEDED', 'VALIDATION', 'INVALID_CID'].includes(error.code)
  if (isFinal || attempts >= MAX_ATTEMPTS) return null
  return now + Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS)
}
