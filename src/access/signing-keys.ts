import { createSecretKey, type webcrypto } from 'node:crypto'
import type { Clock } from '../domain/clock.ts'
import { type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'

/** A key as it is stored. */
export interface StoredSigningKey {
  /** Names it in tokens. */
  kid: string
  /** 256 bits, base64url. */
  secret: string
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** Where signing keys are kept from one start to the next. */
export interface SigningKeyStore {
  /** Newest first. */
  readonly signingKeys: readonly StoredSigningKey[]
  /** Resolves once they are on disk, in place of those before. */
  saveSigningKeys(keys: readonly StoredSigningKey[]): Promise<void>
}

export interface SigningKey {
  kid: string
  key: webcrypto.CryptoKey
}

const SECRET_BYTES = 32
const DAY_MS = 24 * 60 * 60 * 1_000
const ROTATION_MS = 30 * DAY_MS

/**
 * The keys that session tokens are signed with (HMAC SHA-256). The first is made when it is first needed, and a new
 * one every 30 days; one that has been followed by another is good for as long as its last token may live, then gone.
 */
export class SigningKeys {
  readonly #store: SigningKeyStore
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #tokenLifeMs: number
  /** Newest first. Those of the store, once they are on disk. */
  #keys: readonly (StoredSigningKey & SigningKey)[]
  #rotating: Promise<SigningKey> | null = null

  constructor(store: SigningKeyStore, clock: Clock, tokenLifeMs: number, random: RandomBytes = systemRandom) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    this.#tokenLifeMs = tokenLifeMs
    this.#keys = store.signingKeys.map(importKey)
  }

  /** The key to sign with now. Rejects if a new one cannot be stored. */
  async current(): Promise<SigningKey> {
    const [newest] = this.#keys
    if (newest !== undefined && this.#clock.now() < newest.createdAt + ROTATION_MS) return newest
    this.#rotating ??= this.#rotate().finally(() => {
      this.#rotating = null
    })
    return this.#rotating
  }

  find(kid: string): webcrypto.CryptoKey | undefined {
    return this.#keys.find(key => key.kid === kid)?.key
  }

  async #rotate(): Promise<SigningKey> {
    const now = this.#clock.now()
    const fresh = importKey({
      kid: randomId(this.#random, 8),
      secret: Buffer.from(this.#random(SECRET_BYTES)).toString('base64url'),
      createdAt: now,
    })
    // A key signed its last token when the one after it was made; the newest does so now.
    const kept = this.#keys.filter((_, i) => now < (this.#keys[i - 1]?.createdAt ?? now) + this.#tokenLifeMs)
    const keys = [fresh, ...kept]
    await this.#store.saveSigningKeys(keys.map(({ kid, secret, createdAt }) => ({ kid, secret, createdAt })))
    this.#keys = keys
    return fresh
  }
}

function importKey(stored: StoredSigningKey): StoredSigningKey & SigningKey {
  const secret = createSecretKey(stored.secret, 'base64url')
  return { ...stored, key: secret.toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']) }
}
