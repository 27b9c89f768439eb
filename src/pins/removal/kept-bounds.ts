import type { BulkChange } from '../../catalogue/bulk-changes.ts'
import type { PinLimits } from '../../catalogue/records.ts'
import type { UndoPeriods } from '../../catalogue/undo-periods.ts'
import { WokenWork, warned } from '../../concurrency/woken-work.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'

export interface KeptBoundsParts {
  bulk: Pick<UndoPeriods, 'keptBytes' | 'endExcess'>
  limitsOf: (accountId: string) => Promise<PinLimits>
  clock: Clock
  logger: Logger
  /** Called for each undo period that ended early. */
  ended: (change: BulkChange) => void
}

/**
 * Bounds the kept bytes of each account by the quota of its plan, or by its newest removal if that is more. Older undo
 * periods end early. A plan without a quota has no bound.
 */
export class KeptBounds {
  readonly #parts: KeptBoundsParts
  readonly #work: WokenWork
  #accounts = new Set<string>()

  constructor(parts: KeptBoundsParts) {
    this.#parts = parts
    const failed = 'cannot compare what undo periods keep with the quotas; the next removal repeats it'
    this.#work = new WokenWork(signal => this.#checkAll(signal), {
      name: 'bounds of undo periods',
      failed: warned(parts.logger, failed),
    })
  }

  /** Checks an account soon: after a removal, and after the purge of an ended period. */
  look(accountId: string): void {
    this.#accounts.add(accountId)
    this.#work.wake()
  }

  unsettled(): Promise<string[]> {
    return this.#work.unsettled()
  }

  async stop(): Promise<void> {
    await this.#work.stop()
  }

  async #checkAll(signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts
    this.#accounts = new Set()
    for (const accountId of accounts) {
      if (signal.aborted) return
      await this.#check(accountId)
    }
  }

  async #check(accountId: string): Promise<void> {
    const { bulk, limitsOf, clock, ended } = this.#parts
    if ((await bulk.keptBytes(accountId)) === 0) return
    const { maxStorageBytes: most } = await limitsOf(accountId)
    if (most === null) return
    // The next period ends once the records of this one are purged.
    const change = await bulk.endExcess({ accountId, most, now: clock.now() })
    if (change !== null) ended(change)
  }
}
