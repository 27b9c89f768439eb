import type { StatusChange } from '../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../catalogue/placements.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { cidOf, type DagIdentity } from '../ipld/cid.ts'
import { HOLD } from '../pins/placement/placement-attempt.ts'
import { AskedBackend } from './asked-backend.ts'
import { problemOfSample } from './read-sample.ts'

/** Kinds of difference between the wanted placements on external backends and the pins that the backends have. */
export type ClusterProblem =
  /** The backend had the DAG earlier but no longer has it. */
  | 'pin-missing'
  /** The backend no longer has the DAG, and this node has no complete copy. */
  | 'pin-lost'
  /** The backend claims to have the DAG, but cannot return it completely. */
  | 'pin-unreadable'
  /** The backend has a pin of this node that no placement wants. */
  | 'pin-unwanted'
  /** The backend became unreachable, and its remaining pins were not checked. */
  | 'cluster-unreachable'

export interface SurveyedBackend {
  backend: ClusterBackend
  /** Bypasses the cache. Null if the backend cannot be read. */
  reader: BlockSource | null
  cluster: string
  /** True if the backend can fetch lost content from the network. */
  fetchesItself: boolean
}

type Dag = DagIdentity & { backendId: number }

export interface ClusterSurveyParts {
  /** By id in the ledger. */
  backends: ReadonlyMap<number, SurveyedBackend>
  placements: Placements
  isWholeHere: (dag: Dag, signal: AbortSignal) => Promise<boolean>
  /** Records that backends have DAGs, according to a check that began at `began`. */
  confirm: (dags: readonly Dag[], began: number) => Promise<void>
  clock: Clock
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number
  /** Number of DAGs of each backend to read back. */
  sample: number
  onChanges: (changes: StatusChange[]) => Promise<void>
  /** Starts the jobs that send changes to backends. */
  wake: () => void
}

export interface SurveyOptions {
  signal: AbortSignal
  /** Repairs differences: sends missing DAGs again, and records the others as confirmed. */
  mend: boolean
  /**
   * Start of the check in ms since the epoch. Default: now. A continued check passes the start of the earlier check,
   * and as `after` the last placement that it covered.
   */
  began?: number
  after?: number
  found: (kind: ClusterProblem, what: string, detail: string | null) => void
  looked: (what: 'placements' | 'pins' | 'samples', count: number) => Promise<void>
  onStep?: (lastPlacement: number) => Promise<void>
}

const BATCH = 64
const ASKED_AT_ONCE = 8
/** Maximum number of pins that one survey releases. The next survey releases more. */
const MOST_MENDED = 100_000
/** Maximum share of a backend's pins that a survey releases without `force`. */
const MOST_RELEASED = 0.01

/**
 * Compares the placements on external backends with the pins that the backends report, in both directions, and reads
 * some DAGs back. Missing DAGs are due immediately, because sending a DAG twice does no harm. Only {@link release}
 * releases unwanted pins.
 */
export class ClusterSurvey {
  readonly #parts: ClusterSurveyParts
  readonly #options: SurveyOptions
  readonly #began: number
  readonly #asked: ReadonlyMap<number, AskedBackend>
  readonly #samples = new Map<number, { seen: number; rows: PlacementRow[] }>()
  readonly #unwanted = new Map<number, { listed: number; dags: DagIdentity[] }>()

  constructor(parts: ClusterSurveyParts, options: SurveyOptions) {
    this.#parts = parts
    this.#options = options
    this.#began = options.began ?? parts.clock.now()
    const away = (cluster: string) => (reason: string) => options.found('cluster-unreachable', cluster, reason)
    const asked = [...parts.backends].map(([id, { cluster }]) => {
      return [id, new AskedBackend(parts.clock, options.signal, away(cluster))] as const
    })
    this.#asked = new Map(asked)
  }

  get isComplete(): boolean {
    return [...this.#asked.values()].every(({ isAway }) => !isAway)
  }

  async look(): Promise<void> {
    if (this.#parts.backends.size === 0) return
    await this.#lookForMissing()
    for (const id of this.#parts.backends.keys()) {
      await this.#lookForUnwanted(id)
      await this.#readSamples(id)
    }
  }

  /** @throws HoldfastError `CONFLICT` if so many pins would be released that the database may be the wrong one */
  checkReleases(): void {
    for (const [id, { listed, dags }] of this.#unwanted) {
      if (dags.length <= listed * MOST_RELEASED) continue
      const what = `${dags.length} of ${listed} pins of the cluster ${this.#parts.backends.get(id)?.cluster}`
      const question = 'check with dryRun that this is the right database, then repeat with force'
      throw new HoldfastError('CONFLICT', `${what} would be released: ${question}`)
    }
  }

  async release(): Promise<void> {
    const { placements, clock, wake } = this.#parts
    for (const [id, { dags }] of this.#unwanted) {
      for (const dag of dags) await placements.disown(id, dag, clock.now())
    }
    wake()
  }

  async #lookForMissing(): Promise<void> {
    const { backends, placements } = this.#parts
    for (let after = this.#options.after ?? 0; this.#isAnyThere(); ) {
      const rows = await placements.after(after, BATCH)
      const last = rows.at(-1)
      if (last === undefined) return
      const there = rows.filter(row => row.isWanted && row.isPlaced && backends.has(row.backendId))
      const kept: PlacementRow[] = []
      for (let i = 0; i < there.length; i += ASKED_AT_ONCE) {
        const looks = there.slice(i, i + ASKED_AT_ONCE).map(async row => ((await this.#isKept(row)) ? row : []))
        kept.push(...(await Promise.all(looks)).flat())
      }
      if (this.#options.mend) await this.#parts.confirm(kept, this.#began)
      await this.#options.looked('placements', there.length)
      // The rows of a backend that became unreachable in this step must be checked again.
      if (!this.#isAnyThere()) return
      after = last.id
      if (there.length > 0) await this.#options.onStep?.(after)
    }
  }

  #isAnyThere(): boolean {
    return [...this.#asked.values()].some(({ isAway }) => !isAway)
  }

  async #isKept(row: PlacementRow): Promise<boolean> {
    const known = this.#parts.backends.get(row.backendId)
    const asked = this.#asked.get(row.backendId)
    if (known === undefined || asked === undefined || asked.isAway) return false
    const status = await asked.ask(async signal => {
      const told = await known.backend.status(row, signal)
      // Peers that are unreachable now may have the DAG, so do not send it again.
      if (told.isUncertain === true) throw new HoldfastError('UNAVAILABLE', 'cannot reach peers that may have it')
      return told
    })
    if (status === null) return false
    if (status.state === 'pinned') {
      this.#sample(row)
      return true
    }
    if (await this.#isStillPlaced(row)) await this.#lose(row, known, `says that it is ${status.state}`, 'pin-missing')
    return false
  }

  /** Reports a missing or unreadable DAG. If `mend` is true, makes the DAG due for sending. */
  async #lose(
    row: PlacementRow,
    { cluster, fetchesItself }: SurveyedBackend,
    problem: string,
    kind: 'pin-missing' | 'pin-unreadable',
  ): Promise<void> {
    const { placements, clock, isWholeHere, onChanges, wake } = this.#parts
    const isHere = await isWholeHere(row, this.#options.signal)
    this.#options.found(kind, cidOf(row).toString(), `${cluster} ${problem}`)
    if (!isHere) this.#options.found('pin-lost', cidOf(row).toString(), `this node has no whole copy for ${cluster}`)
    if (!this.#options.mend) return
    const lost = kind === 'pin-missing' ? 'the cluster no longer has it' : 'the cluster cannot give all of it'
    const remedy = fetchesItself ? 'the cluster is to fetch it from the network' : 'upload it again'
    const next = isHere ? 'the node sends it again' : `this node has no whole copy either: ${remedy}`
    await onChanges(await placements.lost(row, { now: clock.now(), reason: `${lost}; ${next}` }))
    wake()
  }

  /** Returns false if the placement was removed or changed in the meantime. */
  async #isStillPlaced({ backendId, generation, ...dag }: PlacementRow): Promise<boolean> {
    const now = await this.#parts.placements.find(backendId, dag)
    return now?.generation === generation && now.isPlaced
  }

  async #lookForUnwanted(id: number): Promise<void> {
    const known = this.#parts.backends.get(id)
    const asked = this.#asked.get(id)
    const pages = known?.backend.pins?.bind(known.backend)
    if (pages === undefined || asked === undefined || asked.isAway) return
    const unwanted = { listed: 0, dags: [] as DagIdentity[] }
    this.#unwanted.set(id, unwanted)
    const ended = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, ended.signal])
    const iterator = pages(signal)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const page = await asked.ask(() => iterator.next())
        // If the list breaks off, the pins already listed are still known to be unwanted.
        if (page === null) asked.giveUp('its list of pins broke off')
        if (page === null || page.done === true) break
        for (const { hold, state: _, ...dag } of page.value) {
          if (hold !== HOLD) continue
          unwanted.listed++
          if (turnSpent()) await nextTurn(signal)
          if ((await this.#parts.placements.find(id, dag)) !== undefined) continue
          this.#options.found('pin-unwanted', cidOf(dag).toString(), `in ${known?.cluster}`)
          if (unwanted.dags.length < MOST_MENDED) unwanted.dags.push(dag)
        }
        await this.#options.looked('pins', page.value.length)
      }
    } finally {
      ended.abort()
      // If the request was aborted within a page, the iterator may never answer, so do not wait for it.
      iterator.return?.()?.catch(() => undefined)
    }
  }

  /** Samples each row with the same chance. */
  #sample(row: PlacementRow): void {
    const sample = this.#samples.get(row.backendId) ?? { seen: 0, rows: [] }
    this.#samples.set(row.backendId, sample)
    const place = Math.floor(this.#parts.random() * ++sample.seen)
    if (sample.rows.length < this.#parts.sample) sample.rows.push(row)
    else if (place < this.#parts.sample) sample.rows[place] = row
  }

  async #readSamples(id: number): Promise<void> {
    const { clock, backends } = this.#parts
    const known = backends.get(id)
    const reader = known?.reader ?? null
    for (const row of this.#samples.get(id)?.rows ?? []) {
      if (known === undefined || reader === null || this.#asked.get(id)?.isAway === true) return
      const problem = await problemOfSample(row, { reader, clock, signal: this.#options.signal })
      await this.#options.looked('samples', 1)
      if (problem === null || !(await this.#isStillPlaced(row))) continue
      // A failed request says nothing about the content, so do not mark the DAG as lost.
      if (problem.code === 'UNAVAILABLE') {
        this.#options.found('pin-unreadable', cidOf(row).toString(), `in ${known.cluster}: ${problem.message}`)
      } else await this.#lose(row, known, `cannot give it: ${problem.message}`, 'pin-unreadable')
    }
  }
}
