import type { AccountStore } from '../../catalogue/account-store.ts'
import { underName } from '../../concurrency/work.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { PinService } from '../pin-service.ts'

export interface AccountRemovalParts {
  accounts: Pick<AccountStore, 'deleted' | 'purge' | 'forget'>
  pins: Pick<PinService, 'remove'>
  /** CIDs of some live records of an account, at most `limit`. */
  pinned: (accountId: string, limit: number) => Promise<string[]>
  clock: Clock
  logger: Logger
}

/** Accounts looked at, and contents or keys removed, at a time. */
const BATCH = 50
/** How soon accounts are found that another process has marked, and those that could not go yet. */
const LOOK_AGAIN_MS = 60_000

/**
 * Removes what an account had that is marked deleted: keys and sessions, pins, and the account last. Every step is of its
 * own and may be done again, so a crash between two costs nothing but time: the next start goes on.
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

  /** Looks for marked accounts, now and every minute. Call it when one was marked. Does nothing once it has stopped. */
  wake(): void {
    this.#cancelTimer()
    this.#isWanted = true
    this.#running ??= underName('account removal', () => this.#work()).finally(() => {
      this.#running = null
    })
  }

  /** Resolves once nothing is being removed. */
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

  /** Returns whether nothing of it is left; records that have just expired are left to the sweeper. */
  async #remove(id: string): Promise<boolean> {
    const { accounts, logger } = this.#parts
    while (!this.#isStopped && (await accounts.purge(id, BATCH)));
    while (!this.#isStopped && (await this.#removePins(id)));
    if (this.#isStopped || !(await accounts.forget(id))) return false
    logger.info({ account: id }, 'account removed')
    return true
  }

  /** Returns whether there may be more. */
  async #removePins(account: string): Promise<boolean> {
    const cids = new Set(await this.#parts.pinned(account, BATCH))
    const removals = [...cids].map(async cid => {
      await this.#parts.pins.remove({ account, cid }).catch((error: unknown) => {
        // Expired, or removed by somebody else, since it was listed.
        if (!isHoldfastError(error, 'PIN_NOT_FOUND')) throw error
      })
    })
    await Promise.all(removals)
    return cids.size > 0
  }
}
