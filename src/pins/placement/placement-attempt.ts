import type { StatusChange } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import type { ClusterBackend, PinJob } from '../../clusters/cluster-backend.ts'
import { Deadline, within } from '../../concurrency/deadline.ts'
import type { FairGate } from '../../concurrency/fair-gate.ts'
import type { BlockSource } from '../../content/block-source.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { Attempt } from '../../jobs/job-runner.ts'
import { checkWhole, type FetchingBackend, MissTracker } from './fetching-backend.ts'

/** Name of the hold on external backends. This node counts who needs a DAG, so one hold is enough. */
export const HOLD = 'cluster'
/** Time limit of an unpin request, and the time after its start in which it may still take effect. */
const UNPIN_MS = 30_000
const LEASE_MS = 60_000
/** Time without progress after which an attempt fails, and its total time limit. */
const STALL_MS = 120_000
const LONGEST_MS = 21_600_000
/** Size in bytes above which a DAG counts as large. Only a few large DAGs are sent at the same time. */
const LARGE_BYTES = 64 * 1024

export interface PlacementParts {
  /** External backends, by their number in the ledger. */
  backends: ReadonlyMap<number, ClusterBackend>
  /** Returns the source of blocks that a backend does not have yet. */
  sourceOf: (backendId: number) => BlockSource
  /** The backends that fetch missing content by themselves and can be read. */
  fetchingBackends: ReadonlyMap<number, FetchingBackend>
  placements: Placements
  /** Returns the bytes of a DAG that is complete on this node. */
  sizeOf: (row: PlacementRow) => number | undefined
  clock: Clock
  onChanges: (changes: readonly StatusChange[]) => void
}

/** Checks that a backend really has the content it reports as pinned. */
type Verify = (signal: AbortSignal, onMoved: () => void) => Promise<void>

/**
 * One attempt to have an external backend pin or unpin a DAG. This node keeps the blocks until the backend reports them
 * as pinned.
 */
export class PlacementAttempt implements Attempt<PlacementRow> {
  readonly job: PlacementRow
  readonly #parts: PlacementParts
  readonly #large: FairGate
  readonly #abort = new AbortController()

  /** @param large limits attempts that send many blocks */
  constructor(job: PlacementRow, parts: PlacementParts, large: FairGate) {
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
    // An unpin sent earlier may still arrive. After a new pin it would remove the content, whatever a check had shown.
    if (row.unpinUntil > clock.now()) return placements.retry(row, { at: row.unpinUntil, reason: row.lastError })
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

  /** Sends the blocks of this node to the backend. */
  async #send(row: PlacementRow, backend: ClusterBackend, source: BlockSource, signal: AbortSignal): Promise<void> {
    const isSmall = (this.#parts.sizeOf(row) ?? Number.POSITIVE_INFINITY) <= LARGE_BYTES
    const pass = isSmall ? null : this.#large.enter(row.accountId)
    try {
      if (pass !== null) await orAborted(Promise.resolve(pass.entered), signal)
      const job = { hold: HOLD, root: cidOf(row), origins: [], isRepair: row.isAnew }
      await this.#keep(backend, { ...job, source, signal })
    } finally {
      pass?.leave()
    }
  }

  /** Has the backend fetch blocks that this node lacks, and checks that it has them all. */
  async #refetch(row: PlacementRow, fetching: FetchingBackend, signal: AbortSignal): Promise<void> {
    const root = cidOf(row)
    const job = { hold: HOLD, root, source: null, origins: [], isRepair: true }
    const verify: Verify = (ended, onMoved) => checkWhole(fetching, root, { signal: ended, onMoved })
    await this.#keep(fetching.backend, { ...job, signal }, verify)
  }

  /** Pins the DAG on the backend and verifies it. Fails if progress stops. */
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

  /** Before a request is sent, rereads the row and notes until when the request may take effect. */
  async #unpin(row: PlacementRow, backend: ClusterBackend, signal: AbortSignal): Promise<void> {
    const { placements, clock } = this.#parts
    const mayUnpin = (): Promise<boolean> => placements.beginUnpin(row, clock.now() + LEASE_MS)
    await backend.unpin(HOLD, row, signal, mayUnpin)
    // Keep `unpinUntil`: an earlier unpin with unknown outcome may still arrive.
    await placements.released(row, { now: clock.now(), until: row.unpinUntil })
  }
}
