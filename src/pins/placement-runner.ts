import type { StatusChange } from '../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../catalogue/placements.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import { cidOf } from '../domain/cid.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import { nextTurn } from '../domain/concurrency/turns.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** Under what a backend elsewhere keeps a DAG: who needs it is counted here, so one hold is enough. */
const HOLD = 'cluster'
/** Jobs of one backend at a time. */
const JOBS_AT_ONCE = 4
/** Accounts that one look passes, and jobs of each. */
const ACCOUNTS_AT_ONCE = 16
const JOBS_EACH = 1
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 300_000
/** How long a request to let go may be under way, and after it, how long it is taken to be able to arrive. */
const UNPIN_MS = 30_000
const LEASE_MS = 60_000
/** A job ends if nothing moves for this long, and in any case after this long. */
const STALL_MS = 120_000
const LONGEST_MS = 21_600_000
/** After a look that failed. */
const LOOK_AGAIN_MS = 10_000

export interface PlacementParts {
  /** Those that have to be told, by their number in the ledger. */
  backends: ReadonlyMap<number, ClusterBackend>
  /** Where the blocks of a backend are until it has them. */
  sourceOf: (backendId: number) => BlockSource
  placements: Placements
  clock: Clock
  logger: Logger
  onChanges: (changes: readonly StatusChange[]) => void
  /** Bytes that were to stay on this disk need not any more. */
  onPlaced: (backendId: number) => void
}

/**
 * Tells backends elsewhere what to keep and what not: by rows that follow what is needed here, one job per row at a
 * time, accounts in turns, repeated with growing pauses for as long as it takes. What is sent is held here until a look
 * at the backend has shown it.
 */
export class PlacementRunner {
  readonly #parts: PlacementParts
  /** By row. */
  readonly #running = new Map<number, { backendId: number; abort: AbortController; ended: Promise<void> }>()
  readonly #lastAccounts = new Map<number, string>()
  #cancelTimer: () => void = () => undefined
  #looking = false
  #lookAgain = false
  #stopped = false

  constructor(parts: PlacementParts) {
    this.#parts = parts
  }

  /** Looks for what is due: soon, and once for all who ask before that. */
  wake(): void {
    if (this.#parts.backends.size === 0 || this.#stopped) return
    this.#lookAgain = true
    if (this.#looking) return
    this.#looking = true
    this.#cancelTimer()
    this.#look()
      .catch((error: unknown) => {
        this.#parts.logger.error({ err: error }, 'looking for what clusters are to be told failed')
        return this.#parts.clock.now() + LOOK_AGAIN_MS
      })
      .then(next => {
        this.#looking = false
        if (this.#lookAgain) this.wake()
        else this.#sleepUntil(next)
      })
  }

  /** Ends all jobs; they go on at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    for (const { abort } of this.#running.values()) abort.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  async #look(): Promise<number | null> {
    const { backends, placements } = this.#parts
    await nextTurn()
    this.#lookAgain = false
    const next: number[] = []
    for (const backendId of backends.keys()) {
      await this.#fill(backendId)
      const due = await placements.nextDue(backendId)
      // Those that wait for a place are looked for when one is free.
      if (due !== null && !this.#isFull(backendId)) next.push(Math.max(due, this.#parts.clock.now() + FIRST_RETRY_MS))
    }
    return next.length === 0 ? null : Math.min(...next)
  }

  /** From the last account round to itself. */
  async #fill(backendId: number): Promise<void> {
    const { placements, clock } = this.#parts
    for (let rounds = 0; rounds < 2 && !this.#isFull(backendId) && !this.#stopped; ) {
      const after = this.#lastAccounts.get(backendId) ?? ''
      const each = JOBS_EACH + this.#running.size
      const query = { backendId, now: clock.now(), after, accounts: ACCOUNTS_AT_ONCE, each }
      const due = await placements.due(query)
      this.#lastAccounts.set(backendId, due.last ?? '')
      if (due.last === null) rounds++
      const started = new Set<string>()
      for (const row of due.placements) {
        if (this.#isFull(backendId) || this.#running.has(row.id) || started.has(row.accountId)) continue
        started.add(row.accountId)
        this.#start(row)
        rounds = 0
      }
      await nextTurn()
    }
  }

  #isFull(backendId: number): boolean {
    let count = 0
    for (const running of this.#running.values()) if (running.backendId === backendId) count++
    return count >= JOBS_AT_ONCE
  }

  #sleepUntil(next: number | null): void {
    const { clock } = this.#parts
    this.#cancelTimer()
    if (!this.#stopped) this.#cancelTimer = clock.after(waitFor(next, clock.now()), () => this.wake())
  }

  #start(row: PlacementRow): void {
    const abort = new AbortController()
    const ended = this.#run(row, abort)
      .catch((error: unknown) => {
        this.#parts.logger.error({ err: error, placement: row.id }, 'what became of a cluster could not be recorded')
      })
      .finally(() => {
        this.#running.delete(row.id)
        this.wake()
      })
    this.#running.set(row.id, { backendId: row.backendId, abort, ended })
  }

  async #run(due: PlacementRow, abort: AbortController): Promise<void> {
    const { backends, placements, clock, logger } = this.#parts
    const row = await placements.begin(due)
    const backend = backends.get(due.backendId)
    if (row === undefined || backend === undefined) return
    const longest = row.isWanted ? LONGEST_MS : UNPIN_MS
    const cancel = clock.after(longest, () => abort.abort(new HoldfastError('ABORTED', 'took too long')))
    try {
      if (row.isWanted) await this.#pin(row, backend, abort)
      else await this.#unpin(row, backend, abort.signal)
    } catch (error) {
      if (this.#stopped) return
      const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the job failed'
      const at = clock.now() + retryMs(row.attempts)
      logger.warn({ cid: cidOf(row).toString(), reason, retryAt: at }, 'a cluster could not be told')
      await placements.retry(row, { at, reason })
    } finally {
      cancel()
    }
  }

  async #pin(row: PlacementRow, backend: ClusterBackend, abort: AbortController): Promise<void> {
    const { placements, clock, sourceOf, onChanges, onPlaced } = this.#parts
    const { signal } = abort
    // What may still arrive there would take it away again, after any look.
    if (row.unpinUntil > clock.now()) return placements.retry(row, { at: row.unpinUntil, reason: row.lastError })
    let cancelStall = (): void => undefined
    const moved = (): void => {
      cancelStall()
      cancelStall = clock.after(STALL_MS, () => abort.abort(new HoldfastError('ABORTED', 'nothing moved any more')))
    }
    try {
      moved()
      const root = cidOf(row)
      const source = sourceOf(row.backendId)
      await backend.pin({ hold: HOLD, root, source, origins: [], ends: null, signal, onProgress: moved })
      moved()
      const { state } = await backend.status(row, signal)
      if (state !== 'pinned') throw new HoldfastError('UNAVAILABLE', `the cluster says that it is ${state}`)
    } finally {
      cancelStall()
    }
    for (let isDone = false; !isDone; ) {
      const step = await placements.placed(row, clock.now())
      onChanges(step.changes)
      isDone = step.isDone
    }
    onPlaced(row.backendId)
  }

  async #unpin(row: PlacementRow, backend: ClusterBackend, signal: AbortSignal): Promise<void> {
    const { placements, clock } = this.#parts
    let isSent = true
    await backend.unpin(HOLD, row, signal, async () => {
      isSent = await placements.beginUnpin(row, clock.now() + LEASE_MS)
      return isSent
    })
    if (isSent) await placements.released(row, clock.now())
  }
}

function retryMs(attempts: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_RETRY_MS)
}
