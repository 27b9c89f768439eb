import type { Clock } from '../domain/clock.ts'
import type { BlockProvider, ProviderAnswer } from './providers/block-provider.ts'

/** Consecutive failures after which the session drops a provider. */
const MOST_FAILURES = 3
const FIRST_REST_MS = 150
/** Weight of a new measurement in the average. */
const WEIGHT = 0.2

/** A session's record of one provider. */
export class ProviderState {
  readonly provider: BlockProvider
  asked = false
  /** True if it gave a block of this DAG or claims to have one. */
  proven = false
  /** True if it was so slow that the session asked another provider. */
  suspect = false
  /** Number of its pending block requests. */
  inFlight = 0
  /** True if the session no longer asks it. */
  dropped = false
  /** Its last error, or null. */
  error: string | null = null
  /** The session does not ask it before this time, in ms since the epoch. */
  restUntil = 0
  /** Average latency in ms; null before the first block. */
  latency: number | null = null
  /** Incremented at each failure. Requests made before it count as the same failure. */
  #generation = 0
  #failures = 0

  constructor(provider: BlockProvider) {
    this.provider = provider
  }

  get generation(): number {
    return this.#generation
  }

  /**
   * Updates the record with an answer.
   *
   * @param generation the provider's generation at the time of the request
   */
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

  /** Marks the provider as slow. */
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
