import type { Clock } from '../domain/clock.ts'
import type { BlockProvider, ProviderAnswer } from './providers/block-provider.ts'

/** A provider that fails this often in a row is given up for the session. */
const MOST_FAILURES = 3
const FIRST_REST_MS = 150
/** How much a new measurement counts. */
const WEIGHT = 0.2

/** What a session knows of one of its providers. */
export class ProviderState {
  readonly provider: BlockProvider
  asked = false
  /** It has, or says that it has, a block of this DAG. */
  proven = false
  /** Others had to be asked, because it took so long. */
  suspect = false
  /** Blocks being asked of it. */
  inFlight = 0
  /** No more to be asked. */
  dropped = false
  /** How it failed last, or null. */
  error: string | null = null
  /** Not to be asked before this time. */
  restUntil = 0
  /** How long an answer takes, in milliseconds; null before the first. */
  latency: number | null = null
  /** Rises with each failure, so that what was asked before it does not count as failed again. */
  #generation = 0
  #failures = 0

  constructor(provider: BlockProvider) {
    this.provider = provider
  }

  get generation(): number {
    return this.#generation
  }

  /** @param generation that of the time of asking */
  note(answer: ProviderAnswer, generation: number, tookMs: number, clock: Clock): void {
    this.suspect = false
    if (answer.kind === 'missing') {
      this.error = 'does not have it'
    } else if (answer.kind === 'failed') {
      this.#fail(answer, generation, clock)
    } else {
      this.proven = true
      this.error = null
      this.#failures = 0
      if (answer.kind === 'block') {
        this.latency = this.latency === null ? tookMs : this.latency * (1 - WEIGHT) + tookMs * WEIGHT
      }
    }
  }

  /** It has not answered for long. */
  noteSlow(): void {
    this.suspect = true
    this.error = 'has not answered yet'
  }

  #fail({ reason, final }: { reason: string; final: boolean }, generation: number, clock: Clock): void {
    this.error = reason
    if (final) this.dropped = true
    if (generation !== this.#generation) return
    this.#generation++
    this.#failures++
    if (this.#failures >= MOST_FAILURES) this.dropped = true
    this.restUntil = clock.now() + FIRST_REST_MS * 2 ** (this.#failures - 1)
  }
}
