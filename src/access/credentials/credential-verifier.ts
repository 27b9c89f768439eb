import { isConsoleKey, type KeyRow, type KeyStore } from '../../catalogue/key-store.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import { toApiKey } from '../keys/api-key.ts'
import { hashSecret } from '../keys/api-key-secret.ts'
import { AddressList } from '../limits/network-address.ts'
import type { Credential } from '../principal.ts'

/** A valid credential. Each request must still check the expiry, the account and the client's address. */
export interface VerifiedCredential {
  accountId: string
  credential: Credential
  /** Null if every address may use the credential. */
  allowedFrom: AddressList | null
  /** Records the time of the last use. Call this after the request has passed all checks. */
  used(now: number): void
}

export interface CredentialVerifier {
  verify(secret: string): Promise<VerifiedCredential | null>
}

/** Minimum time in ms between two writes of a key's last use, which only helps to find unused keys. */
const LAST_USED_MS = 60_000

export function isLive(key: { expiresAt: number | null }, now: number): boolean {
  return key.expiresAt === null || now < key.expiresAt
}

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
    const { id, ipAllowlist } = row
    let lastUsedAt = row.lastUsedAt
    return {
      accountId: row.accountId,
      credential: credentialOf(row),
      allowedFrom: ipAllowlist.length === 0 ? null : new AddressList(ipAllowlist),
      used: now => {
        if (lastUsedAt !== null && Math.abs(now - lastUsedAt) < LAST_USED_MS) return
        lastUsedAt = now
        this.#keys
          .noteUse(id, now)
          .catch(error => this.#logger.warn({ err: error, key: id }, 'cannot store the last use of a key'))
      },
    }
  }
}

function credentialOf(row: KeyRow): Credential {
  const { id, name, scopes, expiresAt, upload } = toApiKey(row)
  const { parentId } = row
  return {
    kind: 'key',
    id,
    name,
    scopes,
    expiresAt,
    ...(upload !== null && { upload }),
    ...(parentId !== null && isConsoleKey(row) && { consoleOf: parentId }),
  }
}
