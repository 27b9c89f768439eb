import type { SessionStore } from '../../catalogue/session-store.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { type RandomBytes, randomId, systemRandom } from '../keys/api-key-secret.ts'
import type { Account } from '../principal.ts'
import type { SessionTokens } from './session-token.ts'

export const SESSION_MS = 24 * 60 * 60 * 1_000
/** Stands for the hash of a password if a provider has signed the user in. No account has it as its hash. */
export const NO_PASSWORD = ''
/** The provider confirms its users and their groups at least this often. */
export const PROVIDER_SESSION_MS = 60 * 60 * 1_000

export interface SessionServiceOptions {
  store: SessionStore
  tokens: SessionTokens
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

/** A session begins at a login, and ends at a logout, at a change of the password, or after 24 hours. */
export class SessionService {
  readonly #options: SessionServiceOptions
  readonly #random: RandomBytes

  constructor(options: SessionServiceOptions) {
    this.#options = options
    this.#random = options.random ?? systemRandom
  }

  /**
   * Begins a session of 24 hours, or of one hour with {@link NO_PASSWORD}.
   * @param isKept true if the console keeps the session over a reload. The sign-in is its first proof
   * @throws HoldfastError `INVALID_API_KEY` if the password changed after `passwordHash` was read, `account_disabled`
   */
  async begin(accountId: string, passwordHash: string, isKept = false): Promise<{ account: Account; token: string }> {
    const now = this.#options.clock.now()
    // A token stores times in whole seconds.
    const createdAt = Math.floor(now / 1_000) * 1_000
    const life = passwordHash === NO_PASSWORD ? PROVIDER_SESSION_MS : SESSION_MS
    const provedAt = isKept ? now : null
    const session = { id: randomId(this.#random, 16), accountId, createdAt, expiresAt: createdAt + life, provedAt }
    const token = await this.#options.tokens.sign(session)
    const account = await this.#options.store.begin(session, { now, passwordHash })
    if (account === 'stale') throw staleLogin()
    if (account === 'disabled') throw new HoldfastError('account_disabled', 'this account is disabled')
    return { account, token }
  }

  async end(id: string): Promise<void> {
    await this.#options.store.end(id)
    this.#options.cache.clear()
  }
}

/** Returns the error for a login that took too long, or whose password changed meanwhile. */
export function staleLogin(): HoldfastError {
  return new HoldfastError('INVALID_API_KEY', 'temporaryToken is not valid: sign in again')
}
