import { type Clock, waitFor } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { ClusterCheckProgress } from '../ledger/cluster-check-progress.ts'
import type { ClusterSurvey, SurveyOptions } from './cluster-survey.ts'

/** Delay of a check that is due when the node starts, so that the check does not slow the start down. */
const AFTER_START_MS = 60_000
/** Maximum ms after which a failed or incomplete check is repeated. */
const AGAIN_MS = 600_000
const MOST_NAMED = 20

export interface CheckedBackend {
  id: number
  /** Key of the remote system that stores the clusters' content. If the key changes, a check is due immediately. */
  place: string
  /** One of the backend's clusters, for logs. */
  cluster: string
  /** Ms from the start of one check to the start of the next. */
  everyMs: number
  /** Prevents the eviction of local copies until the caller calls the returned function. */
  keepAll: () => Promise<() => void>
}

export interface ClusterCheckParts {
  progress: Pick<ClusterCheckProgress, 'get' | 'set'>
  /** @throws HoldfastError `CONFLICT` if the catalogue's database may be the wrong one */
  survey: (backendId: number, options: SurveyOptions) => ClusterSurvey
  clock: Clock
  logger: Logger
}

/**
 * Checks on a schedule that external backends have their content, and repairs differences. If a repair would release
 * too many pins, only logs them. The time of the last check survives a restart.
 */
export class ClusterChecks {
  readonly #checks: RepeatedCheck[]

  constructor(parts: ClusterCheckParts, backends: readonly CheckedBackend[]) {
    this.#checks = backends.map(backend => new RepeatedCheck(parts, backend))
  }

  async start(): Promise<void> {
    await Promise.all(this.#checks.map(check => check.start()))
  }

  /** Resolves after the current requests. */
  async stop(): Promise<void> {
    await Promise.all(this.#checks.map(check => check.stop()))
  }
}

class RepeatedCheck {
  readonly #parts: ClusterCheckParts
  readonly #backend: CheckedBackend
  readonly #ending = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => undefined
  #release: () => void = () => undefined

  constructor(parts: ClusterCheckParts, backend: CheckedBackend) {
    this.#parts = parts
    this.#backend = backend
  }

  async start(): Promise<void> {
    const { id, place, everyMs, keepAll } = this.#backend
    const last = this.#parts.progress.get(id)
    const now = this.#parts.clock.now()
    const soon = now + Math.min(AFTER_START_MS, everyMs)
    // The last check covered the previous remote system and confirms nothing about the new one.
    if (last !== undefined && last.place !== place) this.#release = await keepAll()
    const isOver = last?.place === place && last.lastPlacement === null && last.beganAt <= now
    this.#sleepUntil(isOver ? Math.max(soon, last.beganAt + everyMs) : soon)
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    this.#cancelTimer()
    this.#release()
    await this.#running
  }

  #sleepUntil(due: number): void {
    const { clock } = this.#parts
    if (this.#ending.signal.aborted) return
    this.#cancelTimer = clock.after(waitFor(due, clock.now()), () => {
      if (clock.now() < due) return this.#sleepUntil(due)
      this.#running = this.#check().then(next => this.#sleepUntil(next))
    })
  }

  /** Returns the time at which the next check is due, in ms since the epoch. */
  async #check(): Promise<number> {
    const { clock, logger } = this.#parts
    const { cluster, everyMs } = this.#backend
    const again = (): number => clock.now() + Math.min(AGAIN_MS, everyMs)
    try {
      const began = await this.#look()
      if (began === null) return again()
      this.#release()
      const late = clock.now() - began - everyMs
      if (late > 0)
        logger.warn(
          { cluster, lateMs: late },
          'a check of a cluster took longer than its interval: the next one starts now',
        )
      return Math.max(began + everyMs, clock.now())
    } catch (error) {
      if (!this.#ending.signal.aborted) logger.error({ err: error, cluster }, 'cannot check a cluster')
      return again()
    }
  }

  /** Returns the time at which the check began, or null if the backend is unreachable. */
  async #look(): Promise<number | null> {
    const { progress, clock, logger } = this.#parts
    const { id, place, cluster } = this.#backend
    const last = progress.get(id)
    const goesOn = last?.place === place && last.lastPlacement !== null && last.beganAt <= clock.now()
    const began = goesOn ? last.beganAt : clock.now()
    const found: Record<string, number> = {}
    const seen: Record<string, number> = {}
    const lost: string[] = []
    const note = (lastPlacement: number | null): Promise<void> =>
      progress.set(id, { place, beganAt: began, lastPlacement })
    const survey = this.#parts.survey(id, {
      signal: this.#ending.signal,
      mend: true,
      began,
      after: goesOn ? (last.lastPlacement ?? 0) : 0,
      found: (kind, what) => {
        found[kind] = (found[kind] ?? 0) + 1
        if (kind === 'pin-lost' && lost.length < MOST_NAMED) lost.push(what)
      },
      looked: async (what, count) => {
        seen[what] = (seen[what] ?? 0) + count
        this.#ending.signal.throwIfAborted()
      },
      onStep: note,
    })
    if (!goesOn) await note(0)
    await survey.look()
    const level = Object.keys(found).length === 0 ? 'info' : 'warn'
    logger[level]({ cluster, found, seen }, 'checked a cluster')
    if (lost.length > 0)
      logger.error({ cluster, cids: lost }, 'a cluster lost content, and this node has no whole copy')
    if (!survey.isComplete) return null
    await note(null)
    survey.checkReleases()
    await survey.release()
    return began
  }
}
