import type { PinStore } from '../catalogue/sqlite/pin-store.ts'
import type { RecordTable } from '../catalogue/sqlite/record-table.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import type { Emitter } from '../domain/emitter.ts'
import type { Logger } from '../domain/logger.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { presentRecord } from './pin-commit.ts'
import type { EngineEvents } from './types.ts'

/** Records that one transaction removes. */
const BATCH = 100

/**
 * Removes records at the instant they expire, sleeping until the next one. Nothing depends on its being on time:
 * every query hides what has expired. It gives back quota and blocks, and tells about it.
 */
export class ExpirySweeper {
  readonly #store: PinStore
  readonly #records: RecordTable
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #events: Emitter<EngineEvents>
  readonly #logger: Logger
  #cancelTimer: (() => void) | null = null
  #running: Promise<number> | null = null
  #stopped = false

  constructor(parts: {
    store: PinStore
    records: RecordTable
    queue: WriteQueue
    clock: Clock
    events: Emitter<EngineEvents>
    logger: Logger
  }) {
    this.#store = parts.store
    this.#records = parts.records
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#events = parts.events
    this.#logger = parts.logger
  }

  start(): void {
    this.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#running?.catch(() => undefined)
  }

  /** Looks again when the next record expires; to be called when one may expire earlier than known. */
  wake(): void {
    this.#cancelTimer?.()
    if (this.#stopped) return
    const wait = waitFor(this.#records.nextExpiry(), this.#clock.now())
    this.#cancelTimer = this.#clock.after(wait, () => {
      this.sweep()
        .catch((error: unknown) => this.#logger.error({ err: error }, 'removing expired records failed'))
        .finally(() => this.wake())
    })
  }

  /** Removes what has expired by now. Returns how many records. */
  sweep(): Promise<number> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #sweep(): Promise<number> {
    let removed = 0
    for (;;) {
      const now = this.#clock.now()
      if ((this.#records.nextExpiry() ?? Number.POSITIVE_INFINITY) > now) return removed
      const rows = await this.#queue.run(() => this.#store.expire(now, BATCH), { durable: true })
      removed += rows.length
      for (const row of rows) this.#events.emit('pin:removed', { record: presentRecord(row), reason: 'expired' })
    }
  }
}
