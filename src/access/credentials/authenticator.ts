import type { AccountStore } from '../../catalogue/account-store.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import type { PlanCatalogue } from '../plan-catalogue.ts'
import type { Principal } from '../principal.ts'
import type { CredentialCache, KnownCredential } from './credential-cache.ts'
import type { CredentialVerifier } from './credential-verifier.ts'
import { isLive } from './credential-verifier.ts'

/** A key has at most 1,024 characters, and a session token fewer. */
const LONGEST_HEADER = 2_048

export interface AuthenticationRequest {
  header(name: string): string | undefined
  readonly remoteAddress: string | undefined
}

export interface AuthenticatorOptions {
  accounts: Pick<AccountStore, 'get'>
  plans: PlanCatalogue
  cache: CredentialCache
  clock: Clock
  /** In the order in which they are tried. */
  verifiers: readonly CredentialVerifier[]
}

/** Authenticates requests by the header `Authorization` or `X-API-Key`. Both accept any kind of credential. */
export class Authenticator {
  readonly #options: AuthenticatorOptions

  constructor(options: AuthenticatorOptions) {
    this.#options = options
  }

  /**
   * Returns the caller that the first header with a valid credential identifies.
   * @throws HoldfastError `INVALID_API_KEY` if no header has a valid credential, `account_disabled`, or
   * `IP_NOT_ALLOWED`
   */
  async authenticate(request: AuthenticationRequest): Promise<Principal> {
    const secrets = [bearerToken(textOf(request, 'authorization')), textOf(request, 'x-api-key')]
    const now = this.#options.clock.now()
    for (const secret of secrets) {
      const known = secret ? await this.#find(secret, now) : null
      if (known !== null) return this.#admit(known, request.remoteAddress, now)
    }
    const given = secrets.some(secret => secret !== undefined && secret !== '')
    throw new HoldfastError(
      'INVALID_API_KEY',
      given
        ? 'the API key or token is not valid: send a live key, or sign in again'
        : 'this needs a credential: send Authorization: Bearer <key>, or X-API-Key: <key>',
    )
  }

  async #find(secret: string, now: number): Promise<KnownCredential | null> {
    const hash = Buffer.from(hashSecret(secret)).toString('base64')
    const cached = this.#options.cache.get(hash)
    if (cached !== undefined) return isLive(cached.credential, now) ? cached : null
    const { epoch } = this.#options.cache
    for (const verifier of this.#options.verifiers) {
      const verified = await verifier.verify(secret)
      if (verified === null) continue
      const account = await this.#options.accounts.get(verified.accountId)
      if (account === null) return null
      const known = { ...verified, account }
      this.#options.cache.set(hash, known, epoch)
      return known
    }
    return null
  }

  #admit(known: KnownCredential, remoteAddress: string | undefined, now: number): Principal {
    const { account, credential, allowedFrom } = known
    if (account.disabled) throw new HoldfastError('account_disabled', 'this account is disabled')
    if (allowedFrom !== null && (remoteAddress === undefined || !allowedFrom.has(remoteAddress))) {
      throw new HoldfastError('IP_NOT_ALLOWED', 'this API key does not allow requests from your address')
    }
    known.used(now)
    return { account, plan: this.#options.plans.get(account.plan), credential }
  }
}

/** Cuts a long header, to limit the cost of hashing it. */
function textOf(request: AuthenticationRequest, name: string): string | undefined {
  const header = request.header(name)
  if (header === undefined) return undefined
  return header.length > LONGEST_HEADER ? header.slice(0, LONGEST_HEADER) : header.trim()
}

function bearerToken(text: string | undefined): string | undefined {
  return text !== undefined && /^Bearer\s/i.test(text) ? text.slice('Bearer '.length).trimStart() : undefined
}
