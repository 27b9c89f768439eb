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

/** What may be wrong between what is needed of backends elsewhere and what they keep. */
export type ClusterProblem =
  /** A DAG that a backend was seen to keep, and does not. */
  | 'pin-missing'
  /** A DAG that a backend does not keep any more, and of which this node has no whole copy either. */
  | 'pin-lost'
  /** A DAG of which a backend says that it keeps it, and cannot give all of it. */
  | 'pin-unreadable'
  /** A DAG that a backend keeps for this node, which knows of nobody who needs it there. */
  | 'pin-unwanted'
  /** A backend that could not be asked, so that nothing is known of the rest of what it keeps. */
  | 'cluster-unreachable'

/** A backend elsewhere, by what it is looked into. */
export interface SurveyedBackend {
  backend: ClusterBackend
  /** Past the cache; null if it cannot be read. */
  reader: BlockSource | null
  /** One of the clusters that it keeps. */
  cluster: string
  /** Whether it fetches by itself, from the network, what it has lost and this node has not. */
  fetchesItself: boolean
}

type Dag = DagIdentity & { backendId: number }

export interface ClusterSurveyParts {
  /** By their number in the ledger. */
  backends: ReadonlyMap<number, SurveyedBackend>
  placements: Placements
  /** Whether this node has all of a DAG. */
  isWholeHere: (dag: Dag, signal: AbortSignal) => Promise<boolean>
  /** Notes that a check which began at an instant has seen backends to have DAGs. */
  confirm: (dags: readonly Dag[], began: number) => Promise<void>
  clock: Clock
  /** From 0 to below 1. */
  random: () => number
  /** DAGs of each backend that are read back whole. */
  sample: number
  onChanges: (changes: StatusChange[]) => Promise<void>
  /** To be told that a backend has to be told something. */
  wake: () => void
}

export interface SurveyOptions {
  signal: AbortSignal
  /** Whether what is missing becomes due at once, and what is there is confirmed. */
  mend: boolean
  /** When it began; default: now. An earlier process may have begun it, and come to the placement `after`. */
  began?: number
  after?: number
  found: (kind: ClusterProblem, what: string, detail: string | null) => void
  looked: (what: 'placements' | 'pins' | 'samples', count: number) => Promise<void>
  /** Called with the last placement that was looked at. */
  onStep?: (lastPlacement: number) => Promise<void>
}

/** Rows of one step, and of these those that backends are asked about at a time. */
const BATCH = 64
const ASKED_AT_ONCE = 8
/** DAGs that are let go of by one survey at most; the next one goes on. */
const MOST_MENDED = 100_000
/** Of what a backend keeps for this node, the part that is let go of without asking. */
const MOST_RELEASED = 0.01

/**
 * Compares what backends elsewhere are to keep with what they say that they keep, both ways, and reads some of it back.
 * What is missing is due at once, since to send it again harms nothing; nothing is let go of until {@link release}.
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

  /** Whether each backend could be asked. */
  get isComplete(): boolean {
    return [...this.#asked.values()].every(({ isAway }) => !isAway)
  }

  /** Looks at everything. */
  async look(): Promise<void> {
    if (this.#parts.backends.size === 0) return
    await this.#lookForMissing()
    for (const id of this.#parts.backends.keys()) {
      await this.#lookForUnwanted(id)
      await this.#readSamples(id)
    }
  }

  /** @throws HoldfastError `CONFLICT` if so much would be let go of that the database may be the wrong one */
  checkReleases(): void {
    for (const [id, { listed, dags }] of this.#unwanted) {
      if (dags.length <= listed * MOST_RELEASED) continue
      const what = `${dags.length} of ${listed} pins of the cluster ${this.#parts.backends.get(id)?.cluster}`
      const question = 'is this the database that belongs to it? Look with dryRun, and repeat with force if it is'
      throw new HoldfastError('CONFLICT', `${what} would be released: ${question}`)
    }
  }

  /** Has backends let go of what nobody needs, as of everything else: by jobs. */
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
      // Rows of a backend that went away during this step are looked at again.
      if (!this.#isAnyThere()) return
      after = last.id
      if (there.length > 0) await this.#options.onStep?.(after)
    }
  }

  #isAnyThere(): boolean {
    return [...this.#asked.values()].some(({ isAway }) => !isAway)
  }

  /** Whether the backend says that it has a DAG; what it has not is told, and mended. */
  async #isKept(row: PlacementRow): Promise<boolean> {
    const known = this.#parts.backends.get(row.backendId)
    const asked = this.#asked.get(row.backendId)
    if (known === undefined || asked === undefined || asked.isAway) return false
    const status = await asked.ask(async signal => {
      const told = await known.backend.status(row, signal)
      // What peers have that cannot be asked is not to be sent again.
      if (told.isUncertain === true) throw new HoldfastError('UNAVAILABLE', 'peers that may have it could not be asked')
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

  /** What can be sent again is; of what nobody has any more nothing else is said. */
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
    const lost = kind === 'pin-missing' ? 'the cluster does not have it any more' : 'the cluster cannot give all of it'
    const remedy = fetchesItself ? 'the cluster is asked to fetch it from the network' : 'upload it again'
    const next = isHere ? 'it is sent again' : `this node has no whole copy either: ${remedy}`
    await onChanges(await placements.lost(row, { now: clock.now(), reason: `${lost}; ${next}` }))
    wake()
  }

  /** What has been removed meanwhile need not be there. */
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
        // What was listed until then nobody needs, whatever else there is.
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
      // One that is cut off in the middle of a page may not answer.
      iterator.return?.()?.catch(() => undefined)
    }
  }

  /** Some of all, each as likely as any other. */
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
      // What could not be asked for says nothing of what is there.
      if (problem.code === 'UNAVAILABLE') {
        this.#options.found('pin-unreadable', cidOf(row).toString(), `in ${known.cluster}: ${problem.message}`)
      } else await this.#lose(row, known, `cannot give it: ${problem.message}`, 'pin-unreadable')
    }
  }
}
