import type { IdentityStore } from '../../catalogue/identity-store.ts'
import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { providerEmail } from '../accounts/account-service.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { hashSecret, ownerNumber, randomId } from '../keys/api-key-secret.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import { clientOf } from '../limits/network-address.ts'
import type { Account } from '../principal.ts'
import { NO_PASSWORD, type SessionService } from '../sessions/session-service.ts'
import type { IdentityChecks } from './identity-checks.ts'
import type { Identity, ProviderSignIn, StartedSignIn } from './identity-provider.ts'
import type { LoginChallenges } from './login-challenges.ts'
import type { LoginOutcome } from './login-service.ts'
import type { SecondFactor } from './second-factor-check.ts'

export interface ProviderLoginsOptions {
  /** Null if the node offers no such sign-in. */
  signIn: ProviderSignIn | null
  identities: IdentityStore
  checks: IdentityChecks
  sessions: SessionService
  secondFactor: SecondFactor
  challenges: LoginChallenges
  attempts: AttemptStore
  cache: CredentialCache
  clock: Clock
  logger: Logger
}

/** Requests of one address without a sign-in to an account that exists: each asks the provider, or makes an account. */
const SIGN_INS: RateLimit = { requests: 60, windowSeconds: 15 * 60 }

/** Signs users in with a provider. Issuer and subject find the account; the groups decide its plan, for an hour. */
export class ProviderLogins {
  readonly #options: ProviderLoginsOptions
  readonly #attempts: AttemptLimits

  constructor(options: ProviderLoginsOptions) {
    this.#options = options
    const { attempts: store, clock } = options
    this.#attempts = new AttemptLimits({ store, clock, limit: SIGN_INS })
  }

  /** Name of the provider. Null if the node has none. */
  get label(): string | null {
    return this.#options.signIn?.label ?? null
  }

  /**
   * @param isProof true if the provider should ask the user again, even during a session of its own
   * @throws HoldfastError `NOT_OFFERED`, `RATE_LIMIT`, `UNAVAILABLE`
   */
  async start(remoteAddress: string | undefined, isProof = false): Promise<StartedSignIn> {
    const { provider, redirectUri } = await this.#offered(remoteAddress)
    return provider.start(redirectUri, { isProof })
  }

  /**
   * Checks that the provider has asked the user of the account again.
   * @throws HoldfastError `VALIDATION` for a refused answer or another user, `NOT_OFFERED`, `RATE_LIMIT`, `UNAVAILABLE`
   */
  async confirm(
    accountId: string,
    input: { secret: string; answer: string },
    remoteAddress: string | undefined,
  ): Promise<void> {
    const { provider, redirectUri } = await this.#offered(remoteAddress)
    const { identities } = this.#options
    const identity = await provider.finish({ redirectUri, ...input, isProof: true }).catch(error => {
      // A client would take `INVALID_API_KEY` for the end of its session.
      throw isHoldfastError(error, 'INVALID_API_KEY')
        ? new HoldfastError('VALIDATION', 'answer was refused: confirm with the provider again', { cause: error })
        : error
    })
    if ((await identities.accountOf(identity)) !== accountId) {
      throw new HoldfastError('VALIDATION', 'answer is of another user of the provider')
    }
    if (remoteAddress !== undefined) await this.#attempts.clear(clientOf(remoteAddress))
  }

  /**
   * Signs in with the answer of the provider. With `keep` the console keeps the session. The first sign-in of a user creates an account.
   * @throws HoldfastError `INVALID_API_KEY` for a refused answer, `NOT_OFFERED`, `account_disabled`, `RATE_LIMIT`,
   * `UNAVAILABLE`
   */
  async finish(
    { keep, ...input }: { secret: string; answer: string; keep?: boolean | undefined },
    remoteAddress: string | undefined,
  ): Promise<LoginOutcome> {
    const { provider, redirectUri } = await this.#offered(remoteAddress)
    const { cache, challenges, secondFactor, sessions, logger } = this.#options
    const identity = await provider.finish({ redirectUri, ...input }).catch(error => {
      logger.warn({ err: error }, 'a sign-in with the provider failed')
      throw error
    })
    const { account, isNew } = await this.#confirmed(identity)
    cache.clear()
    if (!isNew && remoteAddress !== undefined) await this.#attempts.clear(clientOf(remoteAddress))
    if (account.disabled) throw new HoldfastError('account_disabled', 'this account is disabled')
    if (await secondFactor.isEnabled(account.id)) {
      return { temporaryToken: await challenges.open(account.id, NO_PASSWORD) }
    }
    return sessions.begin(account.id, NO_PASSWORD, keep)
  }

  async #confirmed(identity: Identity): Promise<{ account: Account; isNew: boolean }> {
    const { issuer, subject, email, name, groups } = identity
    const { identities, clock, checks } = this.#options
    const now = clock.now()
    const plan = checks.planOf(groups)
    const id = randomId()
    const owner = ownerNumber()
    const rest = {
      id,
      plan,
      role: 'user' as const,
      defaultCluster: null,
      disabled: false,
      createdAt: now,
      owner,
      defaultVisibility: 'public' as const,
    }
    const own = Buffer.from(hashSecret(`${issuer} ${subject}`))
      .toString('hex')
      .slice(0, 32)
    // An email may belong to another account, which the provider says nothing about.
    for (const candidate of [providerEmail(email), `${own}@${new URL(issuer).hostname}`, `${id}@${own}.invalid`]) {
      if (candidate === null) continue
      const fresh = { ...rest, email: candidate, name: name !== null && /\p{Cc}/u.test(name) ? null : name }
      const account = await identities.confirm({ issuer, subject }, fresh, now, checks.storedRefresh(identity))
      if (account !== 'email_taken') return { account, isNew: account.id === id }
    }
    throw new HoldfastError('CONFLICT', 'no email is free for the account of this user')
  }

  async #offered(remoteAddress: string | undefined): Promise<ProviderSignIn> {
    const { signIn } = this.#options
    if (signIn === null) throw new HoldfastError('NOT_OFFERED', 'this node has no sign-in provider')
    const refusal = remoteAddress === undefined ? null : await this.#attempts.take(clientOf(remoteAddress))
    if (refusal !== null) throw refusal
    return signIn
  }
}
