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
  plan: string
}

/** Limit for one address. */
const SIGN_UPS: RateLimit = { requests: 10, windowSeconds: 60 * 60 }

export class SignUp {
  readonly #accounts: AccountService
  readonly #settings: SignUpSettings
  readonly #attempts: AttemptLimits

  constructor(accounts: AccountService, settings: SignUpSettings, clock: Clock, attempts: AttemptStore) {
    this.#accounts = accounts
    this.#settings = settings
    this.#attempts = new AttemptLimits({ store: attempts, clock, limit: SIGN_UPS, label: 'new accounts' })
  }

  /**
   * Creates an account for a visitor.
   * @throws HoldfastError `NOT_OFFERED` if sign-up is off; `VALIDATION`, which names the field; `CONFLICT` if another
   * account uses the email; `RATE_LIMIT` after too many sign-ups from the address
   */
  async signUp(
    input: { email: string; password: string; name?: string | undefined },
    remoteAddress: string | undefined,
  ): Promise<Account> {
    const { enabled, plan } = this.#settings
    if (!enabled) throw new HoldfastError('NOT_OFFERED', 'sign-up is off: ask the operator of this node for an account')
    const refusal = remoteAddress === undefined ? null : await this.#attempts.take(clientOf(remoteAddress))
    if (refusal !== null) throw refusal
    const { email, password, name = null } = input
    return this.#accounts.create({ email, password, name, plan })
  }
}
