import type { OutageReport } from '../../../src/catalogue/shared-catalogue.ts'
import type { Clock } from '../../../src/domain/clock.ts'

/** Reports the start and the end of each outage once, however many connections and statements fail in it. */
export class DatabaseOutage {
  readonly #clock: Clock
  readonly #report: OutageReport
  #begunAt: number | null = null
  #failures = 0

  constructor(clock: Clock, report: OutageReport) {
    this.#clock = clock
    this.#report = report
  }

  /** Number of failures since the start of the outage; 0 if there is none. */
  get failures(): number {
    return this.#failures
  }

  failed(error: unknown): void {
    this.#failures++
    if (this.#begunAt !== null) return
    this.#begunAt = this.#clock.now()
    this.#report.began(error instanceof Error ? error.message : 'unknown')
  }

  /** Ends the outage after a successful check, unless something has failed since the check began. */
  passed({ failures }: { failures: number }): void {
    if (this.#begunAt === null || failures !== this.#failures) return
    const ms = this.#clock.now() - this.#begunAt
    this.#begunAt = null
    this.#failures = 0
    this.#report.ended({ ms, failures })
  }
}
