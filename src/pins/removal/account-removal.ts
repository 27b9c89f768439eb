import type { AccountStore } from '../../catalogue/account-store.ts'
import { underName } from '../../concurrency/work.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { CidRequest } from '../pin-types.ts'

export interface AccountRemovalParts {
  accounts: Pick<AccountStore, 'deleted' | 'purge' | 'forget'>
  pins: { remove(request: CidRequest): Promise<unknown> }
  pinned: (accountId: string, limit: number) => Promise<string[]>
  clock: Clock
  logger: Logger
}

const BATCH = 50
/**
 * Time between two searches. A search finds accounts that another process has marked, or that an earlier search could
 * not remove.
 */
const LOOK_AGAIN_MS = 60_000

/**
 * Removes accounts that are marked as deleted: keys and sessions first, then pins, then the account. Each step is
 * idempotent, which lets a removal continue after a crash.
 */
export class AccountRemoval {
  readonly #parts: AccountRemovalParts
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | null = null
  #isWanted = false
  #isStopped = false

  constructor(parts: AccountRemovalParts) {
    this.#parts = parts
  }

  /**
   * Searches for marked accounts now, and then every minute. Call this after marking an account. Has no effect after
   * `stop`.
   */
  wake(): void {
    this.#cancelTimer()
    this.#isWanted = true
    this.#running ??= underName('account removal', () => this.#work()).finally(() => {
      this.#running = null
    })
  }

  async settled(): Promise<void> {
    await this.#running
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.settled()
  }

  async #work(): Promise<void> {
    const { clock, logger } = this.#parts
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false
      await this.#removeMarked().catch((error: unknown) => logger.error({ err: error }, 'removing an account failed'))
    }
    if (!this.#isStopped) this.#cancelTimer = clock.after(LOOK_AGAIN_MS, () => this.wake())
  }

  async #removeMarked(): Promise<void> {
    const ids = await this.#parts.accounts.deleted(BATCH)
    let gone = 0
    for (const id of ids) if (await this.#remove(id)) gone++
    if (gone > 0 && ids.length === BATCH) this.#isWanted = true
  }

  /** Returns false if data remains, for example expired records that the sweeper has not yet removed. */
  async #remove(id: string): Promise<boolean> {
    const { accounts, logger } = this.#parts
    while (!this.#isStopped && (await accounts.purge(id, BATCH)));
    while (!this.#isStopped && (await this.#removePins(id)));
    if (this.#isStopped || !(await accounts.forget(id))) return false
    logger.info({ account: id }, 'account removed')
    return true
  }

  /** Returns false if the account has no more pins. */
  async #removePins(account: string): Promise<boolean> {
    const cids = new Set(await this.#parts.pinned(account, BATCH))
    const removals = [...cids].map(async cid => {
      await this.#parts.pins.remove({ account, cid }).catch((error: unknown) => {
        // The record has expired or was removed after it was listed.
        if (!isHoldfastError(error, 'PIN_NOT_FOUND')) throw error
      })
    })
    await Promise.all(removals)
    return cids.size > 0
  }
}
