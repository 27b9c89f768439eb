import type { KeyStore } from '../../catalogue/key-store.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import { isLive, toApiKey } from '../keys/api-key.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import { AddressList } from '../limits/network-address.ts'
import type { Credential } from '../principal.ts'

/** A credential that is what it claims to be. Whether it may be used here and now is decided on each request. */
export interface VerifiedCredential {
  accountId: string
  credential: Credential
  /** Null for anywhere. */
  allowedFrom: AddressList | null
  /** Called on each use that was let through. */
  used(now: number): void
}

/** One kind of credential: tells its own from anything else. */
export interface CredentialVerifier {
  /** Null if the secret is not, or no longer, a credential of this kind. */
  verify(secret: string): Promise<VerifiedCredential | null>
}

/** A last-used time is written at most this often per key: it is there to find forgotten keys. */
const LAST_USED_MS = 60_000

export class ApiKeyVerifier implements CredentialVerifier {
  readonly #keys: KeyStore
  readonly #clock: Clock
  readonly #logger: Logger

  constructor(keys: KeyStore, clock: Clock, logger: Logger) {
    this.#keys = keys
    this.#clock = clock
    this.#logger = logger
  }

  async verify(secret: string): Promise<VerifiedCredential | null> {
    const row = await this.#keys.findByHash(hashSecret(secret))
    if (row === null || !isLive(row, this.#clock.now())) return null
    const { id, name, scopes, expiresAt, ipAllowlist, upload } = toApiKey(row)
    let lastUsedAt = row.lastUsedAt
    return {
      accountId: row.accountId,
      credential: { kind: 'key', id, name, scopes, expiresAt, ...(upload === null ? {} : { upload }) },
      allowedFrom: ipAllowlist.length === 0 ? null : new AddressList(ipAllowlist),
      used: now => {
        if (lastUsedAt !== null && Math.abs(now - lastUsedAt) < LAST_USED_MS) return
        lastUsedAt = now
        this.#keys
          .noteUse(id, now)
          .catch(error => this.#logger.warn({ err: error, key: id }, 'the last use of a key could not be noted'))
      },
    }
  }
}
