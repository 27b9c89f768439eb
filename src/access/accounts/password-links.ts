import type { AccountStore } from '../../catalogue/account-store.ts'
import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import { clientOf } from '../limits/network-address.ts'
import type { Account } from '../principal.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { checkNewPassword } from './password-rules.ts'

export interface PasswordLinksOptions {
  store: AccountStore
  hasher: PasswordHasher
  attempts: AttemptStore
  cache: CredentialCache
  clock: Clock
}

/** For one address. A token cannot be guessed, but each try costs a query. */
const TRIES: RateLimit = { requests: 30, windowSeconds: 15 * 60 }

/** Uses links that `AccountService.makePasswordLink` made. The holder of a link sets the password of its account, once. */
export class PasswordLinks {
  readonly #options: PasswordLinksOptions
  readonly #attempts: AttemptLimits

  constructor(options: PasswordLinksOptions) {
    this.#options = options
    const { attempts: store, clock } = options
    this.#attempts = new AttemptLimits({ store, clock, limit: TRIES })
  }

  /**
   * Sets the password, ends all sessions of the account, and uses the link up.
   * @throws HoldfastError `VALIDATION`, which names the field; `INVALID_API_KEY` for an unknown, used or expired link,
   * and for one of a disabled account; `RATE_LIMIT` after too many tries from the address
   */
  async use(input: { token: string; password: string }, remoteAddress: string | undefined): Promise<Account> {
    const { store, clock, hasher, cache } = this.#options
    const client = remoteAddress === undefined ? null : clientOf(remoteAddress)
    const refusal = client === null ? null : await this.#attempts.take(client)
    if (refusal !== null) throw refusal
    checkNewPassword(input.password, 'password')
    const hash = hashSecret(input.token)
    // Hashing a password is expensive, so an unknown link does not cause it.
    if (!(await store.hasPasswordLink(hash, clock.now()))) throw unknownLink()
    const passwordHash = await hasher.hash(input.password)
    const account = await store.usePasswordLink(hash, passwordHash, clock.now())
    cache.clear()
    if (account === null) throw unknownLink()
    if (client !== null) await this.#attempts.release(client)
    return account
  }
}

function unknownLink(): HoldfastError {
  return new HoldfastError('INVALID_API_KEY', 'this link was used, has expired, or was replaced: ask for another one')
}
