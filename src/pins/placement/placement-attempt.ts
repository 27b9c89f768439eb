import type { StatusChange } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import type { ClusterBackend, PinJob } from '../../clusters/cluster-backend.ts'
import type { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { Deadline, within } from '../../concurrency/deadline.ts'
import type { BlockSource } from '../../content/block-source.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { Attempt } from '../../jobs/job-runner.ts'
import { checkWhole, type FetchingBackend, MissTracker } from './fetching-backend.ts'
import { lateUnpinMs } from './late-unpin.ts'

/**
 * Name of the hold on external backends. All records that need a DAG share one hold, because this node itself tracks
 * these records.
 */
export const HOLD = 'cluster'
const UNPIN_MS = 30_000
/** Time after the start of an unpin request during which the request may still take effect. */
const LEASE_MS = 60_000
const STALL_MS = 120_000
/** Time after which an attempt to pin is aborted, even if it makes progress. */
const LONGEST_MS = 21_600_000
/** Only a few DAGs above this size are sent at the same time. */
const LARGE_BYTES = 64 * 1024

export interface PlacementParts {
  backends: ReadonlyMap<number, ClusterBackend>
  /** Returns a source from which a backend can get blocks that it lacks. */
  sourceOf: (backendId: number) => BlockSource
  /** External backends that fetch missing content by themselves and whose blocks this node can read. */
  fetchingBackends: ReadonlyMap<number, FetchingBackend>
  placements: Placements
  sizeOf: (row: PlacementRow) => number | undefined
  clock: Clock
  onChanges: (changes: readonly StatusChange[]) => void
}

type Verify = (signal: AbortSignal, onMoved: () => void) => Promise<void>

/**
 * One attempt to pin or unpin a DAG on an external backend. This node does not delete the blocks until the backend
 * reports the DAG as pinned.
 */
export class PlacementAttempt implements Attempt<PlacementRow> {
  readonly job: PlacementRow
  readonly #parts: PlacementParts
  readonly #large: Semaphore
  readonly #abort = new AbortController()

  constructor(job: PlacementRow, parts: PlacementParts, large: Semaphore) {
    this.job = job
    this.#parts = parts
    this.#large = large
  }

  abort(reason: HoldfastError): void {
    this.#abort.abort(reason)
  }

  async run(row: PlacementRow): Promise<void> {
    const { backends, clock } = this.#parts
    const backend = backends.get(row.backendId)
    if (backend === undefined) throw new HoldfastError('UNAVAILABLE', 'the backend of the cluster is not configured')
    const ms = row.isWanted ? LONGEST_MS : UNPIN_MS
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'took too long')
    await within({ clock, ms, late, signal: this.#abort.signal }, signal => {
      return row.isWanted ? this.#pin(row, backend, signal) : this.#unpin(row, backend, signal)
    })
  }

  async #pin(row: PlacementRow, backend: ClusterBackend, ended: AbortSignal): Promise<void> {
    const { placements, clock, sourceOf, fetchingBackends, onChanges } = this.#parts
    if (lateUnpinMs(row, clock) > 0) return placements.retry(row, { at: row.unpinUntil, reason: row.lastError })
    const source = new MissTracker(sourceOf(row.backendId))
    const fetching = fetchingBackends.get(row.backendId)
    try {
      await this.#send(row, backend, source, ended)
    } catch (error) {
      if (fetching === undefined || !source.hasMissed || ended.aborted) throw error
      await this.#refetch(row, fetching, ended)
    }
    for (let isDone = false; !isDone; ) {
      const step = await placements.placed(row, clock.now())
      onChanges(step.changes)
      isDone = step.isDone
    }
  }

  async #send(row: PlacementRow, backend: ClusterBackend, source: BlockSource, signal: AbortSignal): Promise<void> {
    const isSmall = (this.#parts.sizeOf(row) ?? Number.POSITIVE_INFINITY) <= LARGE_BYTES
    const pass = isSmall ? null : this.#large.enter(row.accountId)
    try {
      if (pass !== null) await orAborted(pass.entered, signal)
      const job = { hold: HOLD, root: cidOf(row), origins: [], isRepair: row.isAnew }
      await this.#keep(backend, { ...job, source, signal })
    } finally {
      pass?.leave()
    }
  }

  async #refetch(row: PlacementRow, fetching: FetchingBackend, signal: AbortSignal): Promise<void> {
    const root = cidOf(row)
    const job = { hold: HOLD, root, source: null, origins: [], isRepair: true }
    const verify: Verify = (ended, onMoved) => checkWhole(fetching, root, { signal: ended, onMoved })
    await this.#keep(fetching.backend, { ...job, signal }, verify)
  }

  /** Fails after {@link STALL_MS} without progress. */
  async #keep(backend: ClusterBackend, job: PinJob, verify?: Verify): Promise<void> {
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'no progress for 2 minutes')
    const deadline = new Deadline({ clock: this.#parts.clock, ms: STALL_MS, late, signal: job.signal })
    const { signal } = deadline
    const moved = (): void => deadline.moved()
    try {
      await backend.pin({ ...job, signal, onProgress: moved })
      moved()
      await verify?.(signal, moved)
    } finally {
      deadline.rest()
    }
  }

  /** Reads the row again, stores the time until which the request may take effect, then sends the unpin request. */
  async #unpin(row: PlacementRow, backend: ClusterBackend, signal: AbortSignal): Promise<void> {
    const { placements, clock } = this.#parts
    const mayUnpin = (): Promise<boolean> => placements.beginUnpin(row, clock.now() + LEASE_MS)
    await backend.unpin(HOLD, row, signal, mayUnpin)
    // Do not change `unpinUntil`. An earlier unpin request, whose outcome is unknown, may still take effect.
    await placements.released(row, { now: clock.now(), until: row.unpinUntil })
  }
}
