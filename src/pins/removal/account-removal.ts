import type { AccountStore } from '../../catalogue/account-store.ts'
import { MOST_CHANGES } from '../../catalogue/bulk-changes.ts'
import type { UndoPeriods } from '../../catalogue/undo-periods.ts'
import { WokenWork } from '../../concurrency/woken-work.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import type { PinService } from '../pin-service.ts'

export interface AccountRemovalParts {
  accounts: Pick<AccountStore, 'deleted' | 'purge' | 'forget'>
  bulk: Pick<UndoPeriods, 'endPeriods'>
  pins: Pick<PinService, 'clear'>
  clock: Clock
  logger: Logger
}

/** Rows of each table that one step removes. */
const BATCH = 50
const MOST_ACCOUNTS = 1_000
/**
 * Time between two searches. A search finds accounts that another process has marked, or that an earlier search could
 * not remove.
 */
const LOOK_AGAIN_MS = 60_000

/**
 * Removes accounts that are marked as deleted: undo periods, keys and sessions first, then pins, then the account. The accounts take
 * turns. Each step is idempotent, which lets a removal continue after a crash.
 */
export class AccountRemoval {
  readonly #parts: AccountRemovalParts
  #cancelTimer: () => void = () => undefined
  readonly #work: WokenWork
  #periodsEnded: () => void = () => undefined
  /** By account: end of a pause after the last batch or a failure, in ms since the epoch. */
  #rests = new Map<string, number>()

  constructor(parts: AccountRemovalParts) {
    this.#parts = parts
    this.#work = new WokenWork(signal => this.#round(signal).finally(() => this.#lookAgain()), {
      name: 'account removal',
      failed: err => parts.logger.error({ err }, 'looking for deleted accounts failed'),
    })
  }

  /**
   * Searches for marked accounts now, and then every minute. Call this after marking an account. Has no effect after
   * `stop`.
   */
  wake(): void {
    this.#cancelTimer()
    this.#work.wake()
  }

  /** Sets the listener for undo periods that ended, whose records are then purged. */
  whenPeriodsEnd(listener: () => void): void {
    this.#periodsEnded = listener
  }

  async settled(): Promise<void> {
    await this.#work.settled()
  }

  unsettled(): Promise<string[]> {
    return this.#work.unsettled()
  }

  async stop(): Promise<void> {
    this.#cancelTimer()
    await this.#work.stop()
  }

  #lookAgain(): void {
    this.#cancelTimer()
    if (!this.#work.isStopped) this.#cancelTimer = this.#parts.clock.after(LOOK_AGAIN_MS, () => this.wake())
  }

  /** Removes one batch of each marked account. An account therefore never waits for the whole removal of another. */
  async #round(signal: AbortSignal): Promise<void> {
    const { accounts, clock, logger } = this.#parts
    const now = clock.now()
    this.#rests = new Map([...this.#rests].filter(([, until]) => until > now))
    for (const id of await accounts.deleted(MOST_ACCOUNTS)) {
      if (signal.aborted) return
      if (this.#rests.has(id)) continue
      const hasMore = await this.#step(id).catch((err: unknown) => {
        logger.error({ err, account: id }, 'removing an account failed')
        return false
      })
      if (hasMore) this.#work.wake()
      else this.#rests.set(id, now + LOOK_AGAIN_MS)
    }
  }

  /** Returns false if the account is gone, or if only the sweeper can remove the rest. */
  async #step(id: string): Promise<boolean> {
    const { accounts, bulk, pins, logger } = this.#parts
    const ended = await bulk.endPeriods({ accountId: id, why: 'account', limit: MOST_CHANGES })
    if (ended.length > 0) this.#periodsEnded()
    if ((await accounts.purge(id, BATCH)) || (await pins.clear(id))) return true
    if (await accounts.forget(id)) logger.info({ account: id }, 'account removed')
    return false
  }
}
