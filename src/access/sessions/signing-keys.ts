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
 * The keys that session tokens are signed with (HMAC SHA-256). The first is made when it is first needed, and a new
 * one every 30 days; one that has been followed by another is good for as long as its last token may live, then gone.
 * Nodes that share a store sign with the same: of several that make one at once, one does.
 */
export class SigningKeys {
  readonly #store: SigningKeyStore
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #tokenLifeMs: number
  /** Newest first. As they were in the store when it was last looked at. */
  #keys: readonly ImportedKey[] = []
  #rotating: Promise<SigningKey> | null = null
  /** A look at the store that is under way, and the one after it. */
  #loading: Promise<void> | null = null
  #loadingNext: Promise<void> | null = null

  constructor(store: SigningKeyStore, clock: Clock, tokenLifeMs: number, random: RandomBytes = systemRandom) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    this.#tokenLifeMs = tokenLifeMs
  }

  /** The key to sign with now. Rejects if a new one cannot be stored. */
  async current(): Promise<SigningKey> {
    if (this.#keys.length === 0) await this.#load()
    return this.#fresh() ?? this.#rotated()
  }

  /** A key that another node has made meanwhile is looked for in the store. */
  async find(kid: string): Promise<webcrypto.CryptoKey | undefined> {
    if (this.#known(kid) === undefined) await this.#load()
    return this.#known(kid)
  }

  #known(kid: string): webcrypto.CryptoKey | undefined {
    return this.#keys.find(key => key.kid === kid)?.key
  }

  /** The newest, unless it is time for another. */
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
      // A key signed its last token when the one after it was made; the newest does so now.
      const kept = this.#keys.filter((_, i) => now < (this.#keys[i - 1]?.createdAt ?? now) + this.#tokenLifeMs)
      const former = this.#keys[0]?.kid ?? null
      const keys = [made, ...kept].map(({ kid, secret, createdAt }) => ({ kid, secret, createdAt }))
      this.#keys = (await this.#store.replace(former, keys)).map(importKey)
      const fresh = this.#fresh()
      if (fresh !== null) return fresh
    }
  }

  /** A look that begins from now on. Of many that are wanted while one is under way, one follows it. */
  #load(): Promise<void> {
    if (this.#loading === null) {
      this.#loading = this.#look().finally(() => {
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

  async #look(): Promise<void> {
    const known = new Map(this.#keys.map(key => [key.kid, key]))
    this.#keys = (await this.#store.load()).map(key => known.get(key.kid) ?? importKey(key))
  }
}

function importKey(stored: StoredSigningKey): ImportedKey {
  const secret = createSecretKey(stored.secret, 'base64url')
  return { ...stored, key: secret.toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']) }
}
