import type { DeletionStops } from '../catalogue/deletion-stops.ts'
import type { PinLimits } from '../catalogue/records.ts'
import type { Collector } from '../content/collector.ts'
import type { Logger } from '../domain/logger.ts'

export interface DeletionStopParts {
  stops: DeletionStops
  collector: Pick<Collector, 'collect' | 'hold' | 'isHeld'>
  /** Returns true while a set-back of the database stops the release of content. */
  isSetBack: () => Promise<boolean>
  logger: Logger
}

/**
 * Stops of deletion by a backup or a set-back of the database. Meanwhile, deleted content counts in the quota of its
 * account. Otherwise one account could fill the disk by uploads and deletions.
 */
export class DeletionStop {
  readonly #parts: DeletionStopParts
  /** Bytes of uploads and fetches that ended without a record, by account. A collection frees them after the backup. */
  readonly #dropped = new Map<string, number>()

  constructor(parts: DeletionStopParts) {
    this.#parts = parts
  }

  /** True during a backup. */
  get isHeld(): boolean {
    return this.#parts.collector.isHeld
  }

  /** Ends what a killed process has begun. */
  async start(): Promise<void> {
    await this.#end()
  }

  /** Deletes all garbage, then stops deletion. The caller calls the returned function exactly once. */
  async hold(): Promise<() => Promise<void>> {
    const { stops, collector } = this.#parts
    await stops.begin()
    try {
      await collector.collect(0)
    } catch (error) {
      await this.#end()
      throw error
    }
    const release = await collector.hold()
    return async () => {
      release()
      this.#dropped.clear()
      await this.#end()
    }
  }

  /** Call this when this node has offered its content after a set-back. */
  async offered(): Promise<void> {
    if (!this.isHeld) await this.#end()
  }

  isSetBack(): Promise<boolean> {
    return this.#parts.isSetBack()
  }

  /** Notes the blocks of an upload or a fetch that ended without a record of the account. */
  dropped(accountId: string, bytes: number): void {
    if (bytes <= 0 || !this.isHeld) return
    this.#dropped.set(accountId, (this.#dropped.get(accountId) ?? 0) + bytes)
  }

  /** Returns the limits of an account for new content at the moment. */
  async lowered<Limits extends PinLimits>(accountId: string, limits: Limits): Promise<Limits> {
    const { maxStorageBytes: most } = limits
    if (most === null || !(this.isHeld || (await this.isSetBack()))) return limits
    const undeletedBytes = (await this.#parts.stops.undeletedBytes(accountId)) + (this.#dropped.get(accountId) ?? 0)
    return { ...limits, maxStorageBytes: most - undeletedBytes, undeletedBytes }
  }

  async #end(): Promise<void> {
    const { stops, logger } = this.#parts
    await stops.end().catch((error: unknown) => {
      logger.warn({ err: error }, 'cannot forget what accounts have released; the next start or backup repeats it')
    })
  }
}
