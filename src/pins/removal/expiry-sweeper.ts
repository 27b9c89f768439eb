import type { Records } from '../../catalogue/records.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { underName } from '../../concurrency/work.ts'
import { type Clock, isPast, waitFor } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import type { PinChanges } from '../pin-changes.ts'

const BATCH = 100
const RETRY_MS = 10_000
/** Pause after a sweep that left a record that had expired. The clock of the database may be behind this node's. */
const PAUSE_MS = 1_000

export interface ExpirySweeperParts {
  records: Records
  clock: Clock
  changes: PinChanges
  leaveFetch: (fetchId: number) => void
  logger: Logger
}

/** Removes records after they expire. A delay is harmless, because queries skip expired records. */
export class ExpirySweeper {
  readonly #parts: ExpirySweeperParts
  #cancelTimer: (() => void) | null = null
  #running: Promise<number> | null = null
  #stopped = false
  #wakes = 0

  constructor(parts: ExpirySweeperParts) {
    this.#parts = parts
  }

  start(): void {
    this.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#running?.catch(() => undefined)
  }

  /**
   * Schedules the next sweep. Call this when a new record may be the first to expire.
   *
   * @param sweptAt when the last sweep began, in ms since the epoch. A record that had expired before is swept later.
   */
  wake(sweptAt = Number.NEGATIVE_INFINITY): void {
    const wake = ++this.#wakes
    this.#parts.records.nextExpiry().then(
      next => {
        // If another call has started since, that call sets the timer.
        if (wake !== this.#wakes) return
        this.#sleep(next !== null && next <= sweptAt ? PAUSE_MS : waitFor(next, this.#parts.clock.now()))
      },
      (error: unknown) => {
        this.#parts.logger.error({ err: error }, 'looking for the next expiry failed')
        if (wake === this.#wakes) this.#sleep(RETRY_MS)
      },
    )
  }

  async unsettled(): Promise<string[]> {
    const { records, clock } = this.#parts
    if (this.#stopped) return []
    return this.#running !== null || isPast(await records.nextExpiry(), clock.now()) ? ['expiry'] : []
  }

  /** Returns the number of removed records. */
  sweep(): Promise<number> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  #sleep(ms: number): void {
    this.#cancelTimer?.()
    if (this.#stopped) return
    this.#cancelTimer = this.#parts.clock.after(ms, () => {
      const wakes = this.#wakes
      const began = this.#parts.clock.now()
      underName('expiry', () => this.sweep())
        .catch((error: unknown) => this.#parts.logger.error({ err: error }, 'removing expired records failed'))
        // A record that was committed during the sweep may have expired before it.
        .finally(() => this.wake(wakes === this.#wakes ? began : undefined))
    })
  }

  async #sweep(): Promise<number> {
    let removed = 0
    for (;;) {
      const rows = await this.#parts.records.expire(this.#parts.clock.now(), BATCH)
      if (rows.length === 0) return removed
      removed += rows.length
      for (const row of rows) this.#parts.changes.removed(row, 'expired')
      for (const fetchId of new Set(rows.map(row => row.fetchId))) {
        if (fetchId !== null) this.#parts.leaveFetch(fetchId)
      }
      if (turnSpent()) await nextTurn()
    }
  }
}
