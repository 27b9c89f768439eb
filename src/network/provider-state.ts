import type { Clock } from '../domain/clock.ts'
import type { BlockProvider, ProviderAnswer } from './providers/block-provider.ts'

const MOST_FAILURES = 3
const FIRST_REST_MS = 150
/** Weight of a new latency measurement in the moving average. */
const WEIGHT = 0.2

export class ProviderState {
  readonly provider: BlockProvider
  asked = false
  /** True if the provider has supplied a block of this DAG or claims to have one. */
  proven = false
  /** True if the provider was so slow that the session asked another provider. */
  suspect = false
  inFlight = 0
  dropped = false
  /** Last error of the provider. Null after a success. */
  error: string | null = null
  /** In ms since the epoch. */
  restUntil = 0
  /** Null before the first block of the provider. */
  latency: number | null = null
  /** Incremented at each failure. Failed requests of the same generation count as one failure. */
  #generation = 0
  #failures = 0

  constructor(provider: BlockProvider) {
    this.provider = provider
  }

  get generation(): number {
    return this.#generation
  }

  /** @param generation the value of {@link generation} when the request was sent */
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
