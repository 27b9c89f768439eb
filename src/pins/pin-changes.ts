import type { RecordRow } from '../catalogue/records.ts'
import type { Emitter } from '../domain/emitter.ts'
import type { PinStatus } from '../domain/pin-status.ts'
import type { EngineEvents, PinRecord } from './pin-types.ts'
import { presentRecord } from './present-record.ts'

/** Part of the engine that reacts to changes of records. Its methods run after the change is committed. */
export interface PinObserver {
  created?(record: PinRecord): void
  /** @param from the previous status */
  changed?(record: PinRecord, from: PinStatus): void
  removed?(record: PinRecord): void
}

/**
 * Publishes committed changes to observers, then as public events. Put required work into an observer, because an event
 * may have no listener.
 */
export class PinChanges {
  readonly #events: Emitter<EngineEvents>
  readonly #observers: PinObserver[] = []
  readonly #runners: Array<{ wake(): void }> = []

  constructor(events: Emitter<EngineEvents>) {
    this.#events = events
  }

  observe(observer: PinObserver): void {
    this.#observers.push(observer)
  }

  wakes(runner: { wake(): void }): void {
    this.#runners.push(runner)
  }

  created(row: RecordRow): PinRecord {
    const record = presentRecord(row)
    for (const observer of this.#observers) observer.created?.(record)
    this.#wake()
    this.#events.emit('pin:created', { record })
    return record
  }

  changed(row: RecordRow, from: PinStatus): PinRecord {
    const record = presentRecord(row)
    for (const observer of this.#observers) observer.changed?.(record, from)
    this.#wake()
    this.#events.emit('pin:status', { record, from, reason: row.statusReason })
    return record
  }

  removed(row: RecordRow, reason: 'deleted' | 'expired'): PinRecord {
    const record = presentRecord(row)
    for (const observer of this.#observers) observer.removed?.(record)
    this.#wake()
    this.#events.emit('pin:removed', { record, reason })
    return record
  }

  #wake(): void {
    for (const runner of this.#runners) runner.wake()
  }
}
