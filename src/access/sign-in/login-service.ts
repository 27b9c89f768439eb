import type { AccountStore } from '../../catalogue/account-store.ts'
import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import type { PasswordHasher } from '../accounts/password-hasher.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import { clientOf } from '../limits/network-address.ts'
import type { Account } from '../principal.ts'
import { type SessionService, staleLogin } from '../sessions/session-service.ts'
import type { LoginChallenges } from './login-challenges.ts'
import type { SecondFactor } from './second-factor-check.ts'

/** A session, or a temporary token if the account needs the code of its second factor. */
export type LoginOutcome = { account: Account; token: string } | { temporaryToken: string }

export interface LoginServiceOptions {
  accounts: AccountStore
  sessions: SessionService
  secondFactor: SecondFactor
  challenges: LoginChallenges
  attempts: (kind: 'login address' | 'login account') => AttemptStore
  hasher: PasswordHasher
  clock: Clock
}

/** High enough for an office whose users share an address. */
const ADDRESS_FAILURES: RateLimit = { requests: 30, windowSeconds: 15 * 60 }
/** For one account, across all addresses. */
const ACCOUNT_FAILURES: RateLimit = { requests: 10, windowSeconds: 15 * 60 }

/**
 * A wrong password, an unknown email and a locked account get the same answer after the same work. The answer therefore
 * does not reveal whether an email has an account, or whether an account is locked.
 */
export class LoginService {
  readonly #parts: LoginServiceOptions
  readonly #byAddress: AttemptLimits
  readonly #byAccount: AttemptLimits

  constructor(options: LoginServiceOptions) {
    this.#parts = options
    const { attempts, clock } = options
    this.#byAddress = new AttemptLimits({ store: attempts('login address'), clock, limit: ADDRESS_FAILURES })
    this.#byAccount = new AttemptLimits({ store: attempts('login account'), clock, limit: ACCOUNT_FAILURES })
  }

  /**
   * Begins a session, unless the account needs a code. With `keep` the console keeps the session.
   * @throws HoldfastError `INVALID_API_KEY` for a wrong email or password, or a locked account; `account_disabled`;
   * `RATE_LIMIT` after too many failures from the address
   * @param onAccount called with the account of the email, before the password is checked
   */
  async login(
    input: { email: string; password: string; keep?: boolean | undefined },
    remoteAddress: string | undefined,
    onAccount: (account: Account) => void = () => undefined,
  ): Promise<LoginOutcome> {
    const release = await this.#takeAddress(remoteAddress)
    const email = input.email.trim()
    const account = await this.#parts.accounts.findByEmail(email)
    if (account !== null) onAccount(account)
    const stored = account === null ? null : await this.#parts.accounts.passwordHash(account.id)
    const bucket = bucketOf(email)
    const locked = (await this.#byAccount.take(bucket)) !== null
    const right = await this.#parts.hasher.verify(input.password, stored)
    if (!right || locked || account === null || stored === null) throw wrongLogin()
    await this.#byAccount.clear(bucket)
    await release()
    checkEnabled(account)
    const passwordHash = await this.#renewed(account.id, input.password, stored)
    if (await this.#parts.secondFactor.isEnabled(account.id)) {
      return { temporaryToken: await this.#parts.challenges.open(account.id, passwordHash) }
    }
    return this.#parts.sessions.begin(account.id, passwordHash, input.keep)
  }

  /** Ends the lock of an account after too many failures, once its user has a new password. */
  unlock(email: string): Promise<void> {
    return this.#byAccount.clear(bucketOf(email))
  }

  /**
   * Finishes a login with the code of the second factor. After a wrong code, the temporary token remains valid.
   * @throws HoldfastError `INVALID_API_KEY` for an invalid temporary token; `2fa_required`, `2fa_invalid`,
   * `account_disabled`, `RATE_LIMIT`
   * @param onAccount called with the account of the temporary token, before the code is checked
   */
  async verifyLogin(
    input: { temporaryToken: string; code?: string | undefined; keep?: boolean | undefined },
    remoteAddress: string | undefined,
    onAccount: (account: Account) => void = () => undefined,
  ): Promise<{ account: Account; token: string }> {
    const release = await this.#takeAddress(remoteAddress)
    const challenge = await this.#parts.challenges.find(input.temporaryToken)
    if (challenge === null) throw staleLogin()
    const named = await this.#parts.accounts.get(challenge.accountId)
    if (named !== null) onAccount(named)
    await this.#parts.secondFactor.check(challenge.accountId, input.code)
    if (!(await this.#parts.challenges.close(input.temporaryToken))) throw staleLogin()
    await release()
    return this.#parts.sessions.begin(challenge.accountId, challenge.passwordHash, input.keep)
  }

  async #renewed(accountId: string, password: string, stored: string): Promise<string> {
    if (this.#parts.hasher.isCurrent(stored)) return stored
    const fresh = await this.#parts.hasher.hash(password)
    return (await this.#parts.accounts.replacePassword(accountId, stored, fresh)) ? fresh : stored
  }

  /** Returns a function that subtracts the attempt from the count. */
  async #takeAddress(remoteAddress: string | undefined): Promise<() => Promise<void>> {
    if (remoteAddress === undefined) return async () => {}
    const client = clientOf(remoteAddress)
    const refusal = await this.#byAddress.take(client)
    if (refusal !== null) throw refusal
    return () => this.#byAddress.release(client)
  }
}

/** Returns the key under which failed logins are counted: a hash, because an email may be of any length. */
function bucketOf(email: string): string {
  return Buffer.from(hashSecret(email.toLowerCase())).toString('base64')
}

function checkEnabled(account: Account): void {
  if (account.disabled) throw new HoldfastError('account_disabled', 'this account is disabled')
}

function wrongLogin(): HoldfastError {
  return new HoldfastError('INVALID_API_KEY', 'email or password is wrong')
}
