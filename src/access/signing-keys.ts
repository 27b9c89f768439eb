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
  readonly #imported = new Map<string, webcrypto.CryptoKey>()
  #rotating: Promise<void> | null = null

  constructor(store: SigningKeyStore, clock: Clock, tokenLifeMs: number, random: RandomBytes = systemRandom) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    this.#tokenLifeMs = tokenLifeMs
    this.#import()
  }

  /** The key to sign with now. Rejects if a new one cannot be stored. */
  async current(): Promise<SigningKey> {
    const newest = this.#store.signingKeys[0]
    if (newest === undefined || this.#clock.now() >= newest.createdAt + ROTATION_MS) {
      this.#rotating ??= this.#rotate().finally(() => {
        this.#rotating = null
      })
      await this.#rotating
    }
    const kid = this.#store.signingKeys[0]?.kid ?? ''
    const key = this.find(kid)
    if (key === undefined) throw new Error('a signing key was stored and is not there')
    return { kid, key }
  }

  find(kid: string): webcrypto.CryptoKey | undefined {
    return this.#imported.get(kid)
  }

  async #rotate(): Promise<void> {
    const now = this.#clock.now()
    const fresh: StoredSigningKey = {
      kid: randomId(this.#random, 8),
      secret: Buffer.from(this.#random(SECRET_BYTES)).toString('base64url'),
      createdAt: now,
    }
    const [newest, ...older] = this.#store.signingKeys
    // An older key signed its last token when the one after it was made, which was a whole rotation ago or more.
    const kept = older.filter((_, i) => now < (this.#store.signingKeys[i]?.createdAt ?? 0) + this.#tokenLifeMs)
    await this.#store.saveSigningKeys([fresh, ...(newest === undefined ? [] : [newest]), ...kept])
    this.#import()
  }

  #import(): void {
    this.#imported.clear()
    for (const { kid, secret } of this.#store.signingKeys) {
      const bytes = createSecretKey(secret, 'base64url')
      this.#imported.set(kid, bytes.toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']))
    }
  }
}
