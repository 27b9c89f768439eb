import { createSecretKey, type webcrypto } from 'node:crypto'
import type { SigningKeyStore, StoredSigningKey } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { type RandomBytes, randomId, systemRandom } from '../keys/api-key-secret.ts'

export interface SigningKey {
  kid: string
  key: webcrypto.CryptoKey
}

type ImportedKey = StoredSigningKey & SigningKey

const SECRET_BYTES = 32
const DAY_MS = 24 * 60 * 60 * 1_000
const ROTATION_MS = 30 * DAY_MS

/**
 * HMAC SHA-256 keys that sign session tokens. Logins replace the key every 30 days. A replaced key still verifies its
 * tokens until they expire. If several nodes create a key at the same time, their store keeps only one.
 */
export class SigningKeys {
  readonly #store: SigningKeyStore
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #tokenLifeMs: number
  /** Keys from the last read of the store, newest first. */
  #keys: readonly ImportedKey[] = []
  #rotating: Promise<SigningKey> | null = null
  #loading: Promise<void> | null = null
  /** Starts after the running read. */
  #loadingNext: Promise<void> | null = null

  constructor(store: SigningKeyStore, clock: Clock, tokenLifeMs: number, random: RandomBytes = systemRandom) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    this.#tokenLifeMs = tokenLifeMs
  }

  /** Rejects if a new key is due but cannot be stored. */
  async current(): Promise<SigningKey> {
    if (this.#keys.length === 0) await this.#load()
    return this.#fresh() ?? this.#rotated()
  }

  /** Finds a key by its id. If the id is unknown, reads the store, because another node may have created the key. */
  async find(kid: string): Promise<webcrypto.CryptoKey | undefined> {
    if (this.#known(kid) === undefined) await this.#load()
    return this.#known(kid)
  }

  #known(kid: string): webcrypto.CryptoKey | undefined {
    return this.#keys.find(key => key.kid === kid)?.key
  }

  /** Returns null if a new key is due. */
  #fresh(): SigningKey | null {
    const [newest] = this.#keys
    return newest !== undefined && this.#clock.now() < newest.createdAt + ROTATION_MS ? newest : null
  }

  #rotated(): Promise<SigningKey> {
    this.#rotating ??= this.#rotate().finally(() => {
      this.#rotating = null
    })
    return this.#rotating
  }

  async #rotate(): Promise<SigningKey> {
    for (;;) {
      const now = this.#clock.now()
      const made: StoredSigningKey = {
        kid: randomId(this.#random, 8),
        secret: Buffer.from(this.#random(SECRET_BYTES)).toString('base64url'),
        createdAt: now,
      }
      // A key must outlive the last token that it signed. An older key signed its last token when its successor was
      // created. The newest key signs its last token now.
      const kept = this.#keys.filter((_, i) => now < (this.#keys[i - 1]?.createdAt ?? now) + this.#tokenLifeMs)
      const former = this.#keys[0]?.kid ?? null
      const keys = [made, ...kept].map(({ kid, secret, createdAt }) => ({ kid, secret, createdAt }))
      this.#keys = (await this.#store.replace(former, keys)).map(importKey)
      const fresh = this.#fresh()
      if (fresh !== null) return fresh
    }
  }

  /** Waits for a read of the store that begins after this call. All calls during a running read share the next read. */
  #load(): Promise<void> {
    if (this.#loading === null) {
      this.#loading = this.#read().finally(() => {
        this.#loading = null
      })
      return this.#loading
    }
    this.#loadingNext ??= this.#loading
      .catch(() => undefined)
      .then(() => {
        this.#loadingNext = null
        return this.#load()
      })
    return this.#loadingNext
  }

  async #read(): Promise<void> {
    const known = new Map(this.#keys.map(key => [key.kid, key]))
    this.#keys = (await this.#store.load()).map(key => known.get(key.kid) ?? importKey(key))
  }
}

function importKey(stored: StoredSigningKey): ImportedKey {
  const secret = createSecretKey(stored.secret, 'base64url')
  return { ...stored, key: secret.toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']) }
}
