import type { AccountStore } from '../../catalogue/account-store.ts'
import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import type { Principal } from '../principal.ts'
import type { AccountService } from './account-service.ts'
import type { PasswordHasher } from './password-hasher.ts'

export interface PasswordServiceOptions {
  store: AccountStore
  accounts: AccountService
  hasher: PasswordHasher
  attempts: AttemptStore
  clock: Clock
}

/** Stops the holder of a stolen session from guessing the password. */
const WRONG_PASSWORDS: RateLimit = { requests: 10, windowSeconds: 15 * 60 }

export class PasswordService {
  readonly #store: AccountStore
  readonly #accounts: AccountService
  readonly #hasher: PasswordHasher
  readonly #attempts: AttemptLimits

  constructor(options: PasswordServiceOptions) {
    this.#store = options.store
    this.#accounts = options.accounts
    this.#hasher = options.hasher
    this.#attempts = new AttemptLimits({ store: options.attempts, clock: options.clock, limit: WRONG_PASSWORDS })
  }

  /**
   * Changes the password, and ends all other sessions of the account.
   * @throws HoldfastError `VALIDATION`, which names the field, `RATE_LIMIT`
   */
  async change(principal: Principal, input: { currentPassword: string; newPassword: string }): Promise<void> {
    const { account, credential } = principal
    await this.confirm(account.id, input.currentPassword, 'currentPassword')
    await this.#accounts.setPassword(account.id, input.newPassword, { field: 'newPassword', keep: credential.id })
  }

  /** Throws a HoldfastError `VALIDATION`, which names `field`, or `RATE_LIMIT`. */
  async confirm(accountId: string, password: string, field: string): Promise<void> {
    const refusal = await this.#attempts.take(accountId)
    if (refusal !== null) throw refusal
    const right = await this.#hasher.verify(password, await this.#store.passwordHash(accountId))
    if (!right) throw new HoldfastError('VALIDATION', `${field} is not the password of this account`)
    await this.#attempts.clear(accountId)
  }
}
