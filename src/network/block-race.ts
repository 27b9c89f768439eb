import type { CID } from 'multiformats/cid'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ProviderState } from './provider-state.ts'
import type { ProviderAnswer, ProviderQuestion } from './providers/block-provider.ts'

/** Time before the race asks another provider, if the asked provider has supplied no block of this DAG. */
const STAGGER_MS = 250
/** Minimum time before the race asks another provider, if the asked provider has supplied a block of this DAG. */
const PATIENCE_MS = 1_000
/** Multiple of the asked provider's average latency to wait, if longer than {@link PATIENCE_MS}. */
const PATIENCE_FACTOR = 4
/** Maximum number of requests for one block to one provider. */
const MOST_TRIES = 3

export interface RaceParts {
  clock: Clock
  states: () => ProviderState[]
  /** Starts the search for more providers, at most once. Returns whether the search may still find providers. */
  discover: () => boolean
  onSlow: () => void
}

interface Question {
  state: ProviderState
  question: ProviderQuestion
  probe: boolean
  slow: boolean
}

/**
 * Fetches one block. If the best provider lacks the block, fails or is slow, the race asks the next provider. The first
 * block received ends the race.
 */
export class BlockRace {
  readonly #cid: CID
  readonly #parts: RaceParts
  readonly #open = new Map<ProviderState, Question>()
  readonly #tries = new Map<ProviderState, number>()
  readonly #over = new Set<ProviderState>()
  readonly #outcome = Promise.withResolvers<Uint8Array>()
  #settled = false
  #wasSlow = false
  #cancelTimer: (() => void) | null = null

  constructor(cid: CID, parts: RaceParts) {
    this.#cid = cid
    this.#parts = parts
  }

  /**
   * @param admitted the race starts when this promise resolves, or immediately if null
   * @throws HoldfastError `CID_NOT_FOUND`, or the reason given to `cancel`
   */
  run(admitted: Promise<void> | null): Promise<Uint8Array> {
    if (admitted === null) this.#step()
    else void admitted.then(() => this.#step())
    return this.#outcome.promise
  }

  cancel(reason: unknown): void {
    this.#settle(() => this.#outcome.reject(reason))
  }

  /** Call this when providers have joined, or when the search for providers has ended. */
  sourcesChanged(): void {
    if (this.#hasNothingPromising()) this.#step()
  }

  #step(): void {
    if (this.#settled) return
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const now = this.#parts.clock.now()
    const open = this.#parts.states().filter(state => this.#isOpen(state))
    const next = choose(open.filter(state => state.restUntil <= now))
    for (const state of next) this.#ask(state, next.length > 1)
    const restEnds = next.length > 0 ? null : earliest(open.map(state => state.restUntil))
    const mayFindMore = next.length === 0 && this.#parts.discover()
    if (this.#open.size === 0 && restEnds === null && !mayFindMore) this.#fail()
    else this.#sleep(restEnds === null ? null : restEnds - now)
  }

  #isOpen(state: ProviderState): boolean {
    return !state.dropped && !this.#over.has(state) && !this.#open.has(state)
  }

  #ask(state: ProviderState, several: boolean): void {
    const { clock } = this.#parts
    const probe = several && state.provider.canProbe && !state.proven
    const { generation } = state
    const start = clock.now()
    state.asked = true
    const question = state.provider.ask(this.#cid, { probe })
    const asked: Question = { state, question, probe, slow: false }
    this.#open.set(state, asked)
    if (!probe) state.inFlight++
    this.#tries.set(state, (this.#tries.get(state) ?? 0) + 1)
    void question.answer.then(answer => {
      if (this.#settled || this.#open.get(state) !== asked) return
      this.#close(asked)
      state.note(answer, generation, clock.now() - start, clock)
      this.#answered(state, answer)
    })
  }

  #answered(state: ProviderState, answer: ProviderAnswer): void {
    if (answer.kind === 'block') {
      this.#settle(() => this.#outcome.resolve(answer.bytes))
      return
    }
    const isOver = answer.kind === 'missing' || (this.#tries.get(state) ?? 0) >= MOST_TRIES
    if (isOver && answer.kind !== 'has') this.#over.add(state)
    if (this.#hasNothingPromising()) this.#step()
  }

  /**
   * Returns true if no pending request is likely to return the block soon. A probe is unlikely to do so while a proven
   * provider is free.
   */
  #hasNothingPromising(): boolean {
    const open = [...this.#open.values()]
    const isAnyProven = this.#parts.states().some(state => state.proven && this.#isOpen(state))
    return open.every(({ slow, probe }) => slow || (probe && isAnyProven))
  }

  #sleep(restMs: number | null): void {
    const patience = Math.max(...[...this.#open.values()].filter(({ slow }) => !slow).map(patienceWith), 0)
    const waits = [...(patience > 0 ? [patience] : []), ...(restMs === null ? [] : [restMs])]
    if (waits.length === 0) return
    this.#cancelTimer = this.#parts.clock.after(Math.min(...waits), () => {
      if (patience > 0 && (restMs === null || patience <= restMs)) this.#noteSlow()
      this.#step()
    })
  }

  #noteSlow(): void {
    for (const asked of this.#open.values()) {
      asked.slow = true
      asked.state.noteSlow()
    }
    if (this.#wasSlow) return
    this.#wasSlow = true
    this.#parts.onSlow()
  }

  #fail(): void {
    const error = new HoldfastError('CID_NOT_FOUND', `no provider has ${this.#cid}`)
    this.#settle(() => this.#outcome.reject(error))
  }

  #close(asked: Question): void {
    this.#open.delete(asked.state)
    if (!asked.probe) asked.state.inFlight--
  }

  #settle(complete: () => void): void {
    if (this.#settled) return
    this.#settled = true
    this.#cancelTimer?.()
    for (const asked of [...this.#open.values()]) {
      this.#close(asked)
      asked.question.cancel()
    }
    complete()
  }
}

/**
 * Returns the least busy proven provider, or else providers of the lowest tier, preferably those that can be probed.
 */
function choose(ready: ProviderState[]): ProviderState[] {
  const proven = ready.filter(state => state.proven).sort((a, b) => busyness(a) - busyness(b))[0]
  if (proven !== undefined) return [proven]
  const tier = Math.min(...ready.map(state => state.provider.tier))
  const first = ready.filter(state => state.provider.tier === tier)
  const probed = first.filter(state => state.provider.canProbe)
  return probed.length > 0 ? probed : first.slice(0, 1)
}

function busyness(state: ProviderState): number {
  return state.inFlight + (state.suspect ? 1_000_000 : 0)
}

function patienceWith({ state }: Question): number {
  return state.proven ? Math.max(PATIENCE_MS, (state.latency ?? 0) * PATIENCE_FACTOR) : STAGGER_MS
}

function earliest(times: number[]): number | null {
  return times.length === 0 ? null : Math.min(...times)
}
