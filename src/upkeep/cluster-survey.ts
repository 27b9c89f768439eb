import type { StatusChange } from '../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../catalogue/placements.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import { hasLinks } from '../content/dag/links.ts'
import { walkDag } from '../content/dag/walk.ts'
import { cidOf, type DagIdentity } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { nextTurn, turnSpent } from '../domain/concurrency/turns.ts'
import { Deadline, within } from '../domain/deadline.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'
import { HOLD } from '../pins/placement-attempt.ts'

/** What may be wrong between what is needed of backends elsewhere and what they keep. */
export type ClusterProblem =
  /** A DAG that a backend was seen to keep, and does not. */
  | 'pin-missing'
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
}

export interface ClusterSurveyParts {
  /** By their number in the ledger. */
  backends: ReadonlyMap<number, SurveyedBackend>
  placements: Placements
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
  found: (kind: ClusterProblem, what: string, detail: string | null) => void
  looked: (what: 'placements' | 'pins' | 'samples', count: number) => Promise<void>
}

/** Rows of one step, and of these those that backends are asked about at a time. */
const BATCH = 64
const ASKED_AT_ONCE = 8
/** How long a backend may take for one answer, and for the next page of a list. */
const ANSWER_MS = 60_000
/** Answers one after the other that a backend may owe before it is taken to be away. */
const MOST_FAILURES = 3
/** Blocks of a sample that are read at a time; how much of it is read, and for how long at most. */
const READ_AT_ONCE = 4
const SAMPLE_BYTES = 1024 ** 3
const SAMPLE_MS = 3_600_000
/** DAGs that are let go of by one survey at most, and sent again; the next one goes on. */
const MOST_MENDED = 100_000
/** Of what a backend keeps for this node, the part that is let go of without asking. */
const MOST_RELEASED = 0.01

interface Failures {
  inARow: number
  isAway: boolean
}

/**
 * Compares what backends elsewhere are to keep with what they say that they keep, both ways, and reads some of it back.
 * Nothing is changed until {@link mend}.
 */
export class ClusterSurvey {
  readonly #parts: ClusterSurveyParts
  readonly #options: SurveyOptions
  readonly #failures = new Map<number, Failures>()
  readonly #samples = new Map<number, { seen: number; rows: PlacementRow[] }>()
  readonly #lost: Array<{ row: PlacementRow; reason: string }> = []
  readonly #unwanted = new Map<number, { listed: number; dags: DagIdentity[] }>()

  constructor(parts: ClusterSurveyParts, options: SurveyOptions) {
    this.#parts = parts
    this.#options = options
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

  /** What is missing is sent anew, and what nobody needs let go of, each as everything else is: by jobs. */
  async mend(): Promise<void> {
    const { placements, clock, onChanges, wake } = this.#parts
    for (const { row, reason } of this.#lost) {
      await onChanges(await placements.lost(row, { now: clock.now(), reason }))
    }
    for (const [id, { dags }] of this.#unwanted) {
      for (const dag of dags) await placements.disown(id, dag, clock.now())
    }
    wake()
  }

  async #lookForMissing(): Promise<void> {
    const { backends, placements } = this.#parts
    for (let after = 0; ; ) {
      const rows = await placements.after(after, BATCH)
      const last = rows.at(-1)
      if (last === undefined) return
      after = last.id
      const there = rows.filter(row => row.isWanted && row.isPlaced && backends.has(row.backendId))
      for (let i = 0; i < there.length; i += ASKED_AT_ONCE) {
        await Promise.all(there.slice(i, i + ASKED_AT_ONCE).map(row => this.#lookAt(row)))
      }
      await this.#options.looked('placements', there.length)
    }
  }

  async #lookAt(row: PlacementRow): Promise<void> {
    const known = this.#parts.backends.get(row.backendId)
    if (known === undefined || this.#of(row.backendId).isAway) return
    this.#sample(row)
    const status = await this.#ask(row.backendId, async signal => {
      const told = await known.backend.status(row, signal)
      // What peers have that cannot be asked is not to be sent again.
      if (told.isUncertain === true) throw new HoldfastError('UNAVAILABLE', 'peers that may have it could not be asked')
      return told
    })
    if (status === null || status.state === 'pinned') return
    const isStill = await this.#isStillPlaced(row)
    if (!isStill) return
    this.#options.found('pin-missing', cidOf(row).toString(), `${known.cluster} says that it is ${status.state}`)
    this.#lose(row, 'the cluster does not have it any more; it is sent again')
  }

  #lose(row: PlacementRow, reason: string): void {
    if (this.#lost.length < MOST_MENDED) this.#lost.push({ row, reason })
  }

  /** What has been removed meanwhile need not be there. */
  async #isStillPlaced({ backendId, generation, ...dag }: PlacementRow): Promise<boolean> {
    const now = await this.#parts.placements.find(backendId, dag)
    return now?.generation === generation && now.isPlaced
  }

  async #lookForUnwanted(id: number): Promise<void> {
    const known = this.#parts.backends.get(id)
    const pages = known?.backend.pins?.bind(known.backend)
    if (pages === undefined || this.#of(id).isAway) return
    const unwanted = { listed: 0, dags: [] as DagIdentity[] }
    this.#unwanted.set(id, unwanted)
    const ended = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, ended.signal])
    const iterator = pages(signal)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const page = await this.#ask(id, () => iterator.next())
        // What was listed until then nobody needs, whatever else there is.
        if (page === null) this.#isAway(id, 'its list of pins broke off')
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
    const { backends } = this.#parts
    const { reader = null, cluster = '' } = backends.get(id) ?? {}
    for (const row of this.#samples.get(id)?.rows ?? []) {
      if (reader === null || this.#of(id).isAway) return
      const problem = await this.#problemOf(row, reader)
      await this.#options.looked('samples', 1)
      const isMissing = this.#lost.some(lost => lost.row.id === row.id)
      if (problem === null || isMissing || !(await this.#isStillPlaced(row))) continue
      this.#options.found('pin-unreadable', cidOf(row).toString(), `in ${cluster}: ${problem.message}`)
      // What could not be asked for says nothing of what is there.
      if (problem.code === 'UNAVAILABLE') continue
      this.#lose(row, 'the cluster cannot give all of it; it is sent again')
    }
  }

  async #problemOf(row: PlacementRow, reader: BlockSource): Promise<HoldfastError | null> {
    const { signal } = this.#options
    const deadline = new Deadline({ clock: this.#parts.clock, ms: SAMPLE_MS, late: silence, signal })
    let bytes = 0
    try {
      await walkDag(
        cidOf(row),
        async (cid, _parent, ended) => {
          if (bytes > SAMPLE_BYTES) return null
          const block = await reader.read(cid, { signal: ended })
          bytes += block.length
          return hasLinks(cid) ? block : null
        },
        { concurrency: READ_AT_ONCE, signal: deadline.signal },
      )
      return null
    } catch (error) {
      signal.throwIfAborted()
      if (deadline.isOver) return null
      return isHoldfastError(error) ? error : new HoldfastError('UNAVAILABLE', 'it could not be read')
    } finally {
      deadline.rest()
    }
  }

  /** What a backend says; null, and it is noted, if it does not. */
  async #ask<T>(id: number, question: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const failures = this.#of(id)
    const { signal } = this.#options
    try {
      const answer = await within({ clock: this.#parts.clock, ms: ANSWER_MS, late: silence, signal }, ended => {
        return orAborted(question(ended), ended)
      })
      failures.inARow = 0
      return answer
    } catch (error) {
      signal.throwIfAborted()
      failures.inARow++
      const reason = isHoldfastError(error) ? error.message : 'it could not be asked'
      if (failures.inARow >= MOST_FAILURES) this.#isAway(id, reason)
      return null
    }
  }

  /** It is told of once, and not asked any more. */
  #isAway(id: number, reason: string): void {
    const failures = this.#of(id)
    if (failures.isAway) return
    failures.isAway = true
    this.#options.found('cluster-unreachable', this.#parts.backends.get(id)?.cluster ?? '', reason)
  }

  #of(id: number): Failures {
    const failures = this.#failures.get(id) ?? { inARow: 0, isAway: false }
    this.#failures.set(id, failures)
    return failures
  }
}

function silence(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'it did not answer in time')
}
