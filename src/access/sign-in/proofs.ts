import type { KeyStore } from '../../catalogue/key-store.ts'
import type { SessionStore } from '../../catalogue/session-store.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { PasswordService } from '../accounts/password-service.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import type { Credential, Principal } from '../principal.ts'
import { PROVIDER_SESSION_MS } from '../sessions/session-service.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { SecondFactor } from './second-factor-check.ts'

/** Proof of a user: a key, a password, or the answer of the sign-in provider. */
export interface Proof {
  /** Secret of the key that signed in. */
  key?: string | undefined
  password?: string | undefined
  /** Secret of a sign-in with the provider that has begun, and the query with which the provider sent the browser back. */
  secret?: string | undefined
  answer?: string | undefined
  /** Code of the second factor, if the account has one. */
  code?: string | undefined
}

export interface ProofsOptions {
  keys: Pick<KeyStore, 'findByHash' | 'provedAt' | 'prove'>
  sessions: Pick<SessionStore, 'get' | 'prove'>
  passwords: Pick<PasswordService, 'confirm'>
  secondFactor: Pick<SecondFactor, 'check'>
  providerLogins: Pick<ProviderLogins, 'confirm'>
  clock: Clock
}

/** A sign-in that the browser keeps over a reload, so somebody else may find it. */
interface KeptSignIn {
  provedAt: number
  /** How the user signed in. */
  by: 'key' | 'password' | 'provider'
}

const GOOD_FOR_MS = 15 * 60 * 1_000
const WAYS: Readonly<Record<KeptSignIn['by'], string>> = {
  key: 'the API key',
  password: 'the password',
  provider: 'the sign-in provider',
}

/**
 * Asks the user of a kept sign-in for a proof, before the sign-in makes what outlives it. Reads the catalogue for each
 * check, because another node may have stored the proof.
 */
export class Proofs {
  readonly #options: ProofsOptions

  constructor(options: ProofsOptions) {
    this.#options = options
  }

  /**
   * Checks that a kept sign-in has a recent proof. Other credentials need none.
   * @throws HoldfastError `proof_required` for a kept sign-in whose last proof is older than 15 minutes. Its detail
   * `proof` is `key`, `password` or `provider`
   */
  async check({ credential }: Principal): Promise<void> {
    const kept = await this.#find(credential)
    // A clock that was set back makes no proof last longer.
    if (kept === null || Math.abs(this.#options.clock.now() - kept.provedAt) <= GOOD_FOR_MS) return
    const message = `confirm this sign-in with ${WAYS[kept.by]}, by POST /auth/proof`
    throw new HoldfastError('proof_required', message, { details: { proof: kept.by } })
  }

  /**
   * Checks a proof and stores its time with the kept sign-in. Returns until when it counts.
   * @throws HoldfastError `CONFLICT` for other credentials, `VALIDATION`, which names the field, `2fa_required`,
   * `2fa_invalid`, `RATE_LIMIT`; for an answer of the provider also `NOT_OFFERED` and `UNAVAILABLE`
   */
  async prove(principal: Principal, proof: Proof, remoteAddress: string | undefined): Promise<number> {
    const { account, credential } = principal
    if ((await this.#find(credential)) === null) {
      throw new HoldfastError('CONFLICT', 'only a sign-in that the console keeps needs a proof')
    }
    const { key, password, secret, answer, code } = proof
    const { passwords, secondFactor, providerLogins, clock } = this.#options
    if (key !== undefined) await this.#checkKey(credential, key)
    else if (password !== undefined) await passwords.confirm(account.id, password, 'password')
    else if (secret === undefined || answer === undefined) {
      throw new HoldfastError('VALIDATION', 'one of key, password, or secret with answer must be given')
    }
    // An answer of the provider is good for one use, so a wrong code must not use it up.
    await secondFactor.check(account.id, code)
    if (key === undefined && password === undefined && secret !== undefined && answer !== undefined) {
      await providerLogins.confirm(account.id, { secret, answer }, remoteAddress)
    }
    const now = clock.now()
    const store = credential.kind === 'session' ? this.#options.sessions : this.#options.keys
    await store.prove(credential.id, now)
    return now + GOOD_FOR_MS
  }

  /** Returns null for a credential that is no kept sign-in. */
  async #find({ kind, id, consoleOf }: Credential): Promise<KeptSignIn | null> {
    if (kind === 'key') {
      const provedAt = consoleOf === undefined ? null : await this.#options.keys.provedAt(id)
      return provedAt === null ? null : { provedAt, by: 'key' }
    }
    const session = await this.#options.sessions.get(id)
    if (session === null || session.provedAt === null) return null
    const isShort = session.expiresAt - session.createdAt <= PROVIDER_SESSION_MS
    return { provedAt: session.provedAt, by: isShort ? 'provider' : 'password' }
  }

  /**
   * Checks that a secret is the key that signed in. Any other key of the account is refused: somebody who took over the
   * sign-in could have a key with fewer rights.
   */
  async #checkKey({ consoleOf }: Credential, secret: string): Promise<void> {
    const found = await this.#options.keys.findByHash(hashSecret(secret.trim()))
    if (found === null || found.id !== consoleOf) {
      throw new HoldfastError('VALIDATION', 'key is not the API key that signed in')
    }
  }
}
