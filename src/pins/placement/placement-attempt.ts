import type { StatusChange } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import type { ClusterBackend, PinJob } from '../../clusters/cluster-backend.ts'
import { smallDag } from '../../clusters/small-dag.ts'
import { Deadline, within } from '../../concurrency/deadline.ts'
import type { FairGate } from '../../concurrency/fair-gate.ts'
import type { BlockSource } from '../../content/block-source.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { Attempt } from '../../jobs/job-runner.ts'
import { checkWhole, type Keeper, NotedSource } from './keeper.ts'

/** Under what a backend elsewhere keeps a DAG: who needs it is counted here, so one hold is enough. */
export const HOLD = 'cluster'
/** How long a request to let go may be under way, and after it, how long it is taken to be able to arrive. */
const UNPIN_MS = 30_000
const LEASE_MS = 60_000
/** An attempt ends if nothing moves for this long, and in any case after this long. */
const STALL_MS = 120_000
const LONGEST_MS = 21_600_000

export interface PlacementParts {
  /** Those that have to be told, by their number in the ledger. */
  backends: ReadonlyMap<number, ClusterBackend>
  /** Where the blocks of a backend are until it has them. */
  sourceOf: (backendId: number) => BlockSource
  /** Those of them that fetch by themselves what is not here, and can be read. */
  keepers: ReadonlyMap<number, Keeper>
  placements: Placements
  clock: Clock
  onChanges: (changes: readonly StatusChange[]) => void
}

/** What is handed over. */
type Sending = Pick<PinJob, 'source' | 'blocks'> & { signal: AbortSignal }

/** Another look at what a backend says that it keeps. */
type Look = (signal: AbortSignal, onMoved: () => void) => Promise<void>

/** One attempt to have a backend keep a DAG, or let go of it. What is sent is held here until it was seen there. */
export class PlacementAttempt implements Attempt<PlacementRow> {
  readonly job: PlacementRow
  readonly #parts: PlacementParts
  readonly #large: FairGate
  readonly #abort = new AbortController()

  /** @param large lets in those that send much */
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
    const { placements, clock, sourceOf, keepers, onChanges } = this.#parts
    // What may still arrive there would take it away again, after any look.
    if (row.unpinUntil > clock.now()) return placements.retry(row, { at: row.unpinUntil, reason: row.lastError })
    const source = new NotedSource(sourceOf(row.backendId))
    const keeper = keepers.get(row.backendId)
    const mayRefetch = (): boolean => keeper !== undefined && source.isLacking && !ended.aborted
    const blocks = (await smallDag(cidOf(row), source, ended)) ?? undefined
    let isSent = false
    try {
      if (!mayRefetch()) {
        await this.#send(row, backend, { source, blocks, signal: ended })
        isSent = true
      }
    } catch (error) {
      if (!mayRefetch()) throw error
    }
    if (!isSent && keeper !== undefined) await this.#refetch(row, keeper, ended)
    for (let isDone = false; !isDone; ) {
      const step = await placements.placed(row, clock.now())
      onChanges(step.changes)
      isDone = step.isDone
    }
  }

  /** Hands it over from here. */
  async #send(row: PlacementRow, backend: ClusterBackend, from: Sending): Promise<void> {
    const { blocks, signal } = from
    const pass = blocks === undefined ? this.#large.enter(row.accountId) : null
    try {
      if (pass !== null) await orAborted(Promise.resolve(pass.entered), signal)
      const job = { hold: HOLD, root: cidOf(row), origins: [], ends: null, again: row.isAnew }
      await this.#keep(row, backend, { ...job, ...from, isFirst: row.attempts === 1 })
    } finally {
      pass?.leave()
    }
  }

  /** Has the backend fetch what is not here, from whoever has it, and believes only what can be had there. */
  async #refetch(row: PlacementRow, keeper: Keeper, signal: AbortSignal): Promise<void> {
    const root = cidOf(row)
    const job = { hold: HOLD, root, source: null, origins: [], ends: null, again: true }
    const look: Look = (ended, onMoved) => checkWhole(keeper, root, { signal: ended, onMoved })
    await this.#keep(row, keeper.backend, { ...job, signal }, look)
  }

  /** Has the backend keep it, as long as something moves, and looks whether it does. */
  async #keep(row: PlacementRow, backend: ClusterBackend, job: PinJob, look?: Look): Promise<void> {
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'nothing moved any more')
    const deadline = new Deadline({ clock: this.#parts.clock, ms: STALL_MS, late, signal: job.signal })
    const { signal } = deadline
    const moved = (): void => deadline.moved()
    try {
      await backend.pin({ ...job, signal, onProgress: moved })
      moved()
      if (look !== undefined) await look(signal, moved)
      if (backend.looksAfterPin === true) return
      const { state } = await backend.status(row, signal)
      if (state !== 'pinned') throw new HoldfastError('UNAVAILABLE', `the cluster says that it is ${state}`)
    } finally {
      deadline.rest()
    }
  }

  /** The row is read anew, and until when the request may arrive is noted, before anything is sent. */
  async #unpin(row: PlacementRow, backend: ClusterBackend, signal: AbortSignal): Promise<void> {
    const { placements, clock } = this.#parts
    const mayUnpin = (): Promise<boolean> => placements.beginUnpin(row, clock.now() + LEASE_MS)
    // One that does not ask may send at once.
    if (backend.asksBeforeUnpin !== true && !(await mayUnpin())) return
    await backend.unpin(HOLD, row, signal, mayUnpin)
    // An earlier request, of which the end is unknown, may be on its way still.
    await placements.released(row, { now: clock.now(), until: row.unpinUntil })
  }
}
