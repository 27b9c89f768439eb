import type { FetchRow, FetchTable } from '../catalogue/sqlite/fetch-table.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { waitFor } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import type { BlockFetcher, FetchSession } from '../network/block-fetcher.ts'
import { type AttemptParts, FetchAttempt } from './fetch-attempt.ts'

/** Attempts at a time to which blocks come. */
const ATTEMPTS_AT_ONCE = 64
/** One to which none came for this long makes room for others; it goes on until it stalls. */
const SLOW_MS = 5_000
/** Attempts at a time, the slow ones included. */
const MOST_ATTEMPTS = 1_024
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const MAX_ATTEMPTS = 10

interface Running {
  attempt: FetchAttempt
  account: string
  ended: Promise<void>
}

/**
 * Works off the fetches: attempts start when they are due, the account with the fewest running first, and are
 * repeated with growing pauses. What a restart interrupts goes on.
 */
export class FetchScheduler {
  readonly #parts: AttemptParts
  readonly #fetches: FetchTable
  readonly #clusters: ClusterRegistry
  readonly #logger: Logger
  readonly #running = new Map<number, Running>()
  #fetcher: BlockFetcher | null = null
  #cancelTimer: () => void = () => undefined
  #stopped = false

  constructor(
    parts: Omit<AttemptParts, 'heldByOthers'>,
    fetches: FetchTable,
    clusters: ClusterRegistry,
    logger: Logger,
  ) {
    this.#parts = { ...parts, heldByOthers: (accountId, fetchId) => this.#heldByOthers(accountId, fetchId) }
    this.#fetches = fetches
    this.#clusters = clusters
    this.#logger = logger
  }

  /** Begins with what earlier processes left. Without a fetcher nothing is attempted; records wait. */
  async start(fetcher: BlockFetcher): Promise<void> {
    const { queue, store, clock, onChanges } = this.#parts
    this.#fetcher = fetcher
    onChanges(await queue.run(() => store.resume(clock.now()), { durable: true }))
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
  begin(fetchId: number, session: FetchSession): void {
    const fetch = this.#fetches.get(fetchId)
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
    const { queue, store } = this.#parts
    const running = this.#running.get(fetchId)
    if (running === undefined) {
      await queue.run(() => store.dropIfUnneeded(fetchId), { durable: false })
      return
    }
    running.attempt.subscribersChanged()
    // It gives its blocks up once no more are on their way: a claim that comes later would never be released.
    if (running.attempt.isUnneeded) await running.ended
  }

  /** To be called when records have gone without anybody knowing of which fetch. */
  lookForUnneeded(): void {
    for (const { attempt } of this.#running.values()) attempt.subscribersChanged()
  }

  /** Starts what is due, and sleeps until the next is. */
  wake(): void {
    this.#cancelTimer()
    if (this.#stopped || this.#fetcher === null) return
    const { clock } = this.#parts
    for (const fetch of this.#inTurn(this.#fetches.due(clock.now()))) {
      if (this.#isFull()) break
      const fetcher = this.#fetcher
      const owner = this.#accountOf(fetch)
      this.#run(fetch, (signal, root) => fetcher.open(root, { origins: fetch.origins, owner, signal }))
    }
    const next = this.#isFull() ? clock.now() + SLOW_MS : this.#fetches.nextDue()
    this.#cancelTimer = clock.after(waitFor(next, clock.now()), () => this.wake())
  }

  #isFull(): boolean {
    if (this.#running.size < ATTEMPTS_AT_ONCE) return false
    const since = this.#parts.clock.now() - SLOW_MS
    const moving = [...this.#running.values()].filter(({ attempt }) => attempt.movedAt > since)
    return moving.length >= ATTEMPTS_AT_ONCE || this.#running.size >= MOST_ATTEMPTS
  }

  /** Bytes that an account's other fetches have brought so far. */
  #heldByOthers(accountId: string, fetchId: number): number {
    return this.#fetches
      .heldFor(accountId)
      .filter(({ id }) => id !== fetchId)
      .reduce((sum, { id, bytes }) => sum + Math.max(bytes, this.attempt(id)?.totals.bytes ?? 0), 0)
  }

  /** Those that are not running, ordered so that no account waits for another's many. */
  #inTurn(due: FetchRow[]): FetchRow[] {
    const counts = new Map<string, number>()
    for (const { account } of this.#running.values()) counts.set(account, (counts.get(account) ?? 0) + 1)
    const turns = due
      .filter(fetch => !this.#running.has(fetch.id))
      .map(fetch => {
        const account = this.#accountOf(fetch)
        const turn = counts.get(account) ?? 0
        counts.set(account, turn + 1)
        return { fetch, turn }
      })
    return turns.sort((a, b) => a.turn - b.turn).map(({ fetch }) => fetch)
  }

  #accountOf(fetch: FetchRow): string {
    return this.#parts.records.ofFetch(fetch.id)[0]?.accountId ?? ''
  }

  #run(fetch: FetchRow, open: (signal: AbortSignal, root: FetchAttempt['root']) => Promise<FetchSession>): void {
    const attempt = new FetchAttempt(fetch, this.#parts)
    const ended = this.#attempt(attempt, signal => open(signal, attempt.root))
      .catch((error: unknown) => this.#logger.error({ err: error, fetch: fetch.id }, 'a fetch could not be recorded'))
      .finally(() => {
        this.#running.delete(fetch.id)
        if (!this.#stopped) this.wake()
      })
    this.#running.set(fetch.id, { attempt, account: this.#accountOf(fetch), ended })
  }

  async #attempt(attempt: FetchAttempt, open: (signal: AbortSignal) => Promise<FetchSession>): Promise<void> {
    const { queue, store, clock, onChanges } = this.#parts
    const { id, backendId } = attempt.fetch
    const started = await queue.run(() => store.start(id, clock.now()), { durable: true })
    if (started === undefined) return
    onChanges(started.changes)
    const backend = this.#clusters.backends.find(candidate => candidate.id === backendId)
    try {
      if (backend === undefined) throw new HoldfastError('UNAVAILABLE', 'the backend of the cluster is not configured')
      await attempt.run(backend, open)
    } catch (error) {
      if (this.#stopped) return
      if (attempt.isUnneeded) {
        await queue.run(() => store.dropOrRepeat(id, clock.now()), { durable: true })
        return
      }
      const reason = reasonOf(error)
      const now = clock.now()
      const retryAt = retryTime(error, started.fetch.attempts, now)
      this.#logger.warn({ cid: attempt.root.toString(), reason, retryAt }, 'a fetch failed')
      const failure = { reason, retryAt, bytes: attempt.totals.bytes }
      onChanges(await queue.run(() => store.fail(id, failure, now), { durable: true }))
    }
  }
}

function reasonOf(error: unknown): string {
  return isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the fetch failed'
}

/** When to try again; null if another attempt would end like this one. */
function retryTime(error: unknown, attempts: number, now: number): number | null {
  const isFinal = isHoldfastError(error) && ['QUOTA_EXCEEDED', 'VALIDATION', 'INVALID_CID'].includes(error.code)
  if (isFinal || attempts >= MAX_ATTEMPTS) return null
  return now + Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS)
}
