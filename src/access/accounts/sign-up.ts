import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import { clientOf } from '../limits/network-address.ts'
import type { Account } from '../principal.ts'
import type { AccountService } from './account-service.ts'

export interface SignUpSettings {
  enabled: boolean
  /** Of the new accounts. */
  plan: string
}

/** Of one address. */
const SIGN_UPS: RateLimit = { requests: 10, windowSeconds: 60 * 60 }

/** Accounts that people make for themselves, if the operator wants that. */
export class SignUp {
  readonly #accounts: AccountService
  readonly #settings: SignUpSettings
  readonly #attempts: AttemptLimits

  /** @param attempts new accounts, by address */
  constructor(accounts: AccountService, settings: SignUpSettings, clock: Clock, attempts: AttemptStore) {
    this.#accounts = accounts
    this.#settings = settings
    this.#attempts = new AttemptLimits({ store: attempts, clock, limit: SIGN_UPS, what: 'new accounts' })
  }

  /**
   * @throws HoldfastError `NOT_OFFERED` unless it is turned on, `VALIDATION` naming the field, `CONFLICT` if the
   * email is taken, `RATE_LIMIT` for an address that has made many.
   */
  async signUp(
    input: { email: string; password: string; name?: string | undefined },
    remoteAddress: string | undefined,
  ): Promise<Account> {
    const { enabled, plan } = this.#settings
    if (!enabled) throw new HoldfastError('NOT_OFFERED', 'accounts of this node are made by its operator')
    const refusal = remoteAddress === undefined ? null : await this.#attempts.take(clientOf(remoteAddress))
    if (refusal !== null) throw refusal
    const { email, password, name = null } = input
    return this.#accounts.create({ email, password, name, plan })
  }
}
