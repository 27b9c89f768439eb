import { LRUCache } from 'lru-cache'
import type { ChallengeStore, LoginChallenge } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { atMost } from '../../domain/lru.ts'
import { hashSecret, type RandomBytes, randomId, systemRandom } from '../keys/api-key-secret.ts'

const LIFE_MS = 5 * 60 * 1_000
const MAX_CHALLENGES = 10_000
const TOKEN_BYTES = 32

/** Logins with a correct password that still need the code of the second factor. */
export class LoginChallenges {
  readonly #store: ChallengeStore
  readonly #clock: Clock
  readonly #random: RandomBytes

  constructor(store: ChallengeStore, clock: Clock, random: RandomBytes = systemRandom) {
    this.#store = store
    this.#clock = clock
    this.#random = random
  }

  /** Returns a temporary token, which expires after five minutes. */
  async open(accountId: string, passwordHash: string): Promise<string> {
    const token = `hf2fa_${randomId(this.#random, TOKEN_BYTES)}`
    const now = this.#clock.now()
    await this.#store.insert(hashSecret(token), { accountId, passwordHash, expiresAt: now + LIFE_MS }, now)
    return token
  }

  /** Returns null if the token is unknown, expired or used. */
  async find(token: string): Promise<LoginChallenge | null> {
    const challenge = await this.#store.get(hashSecret(token))
    return challenge !== null && this.#clock.now() < challenge.expiresAt ? challenge : null
  }

  /** Returns false if the login has already ended, so that only one of two concurrent requests succeeds. */
  close(token: string): Promise<boolean> {
    return this.#store.remove(hashSecret(token))
  }
}

/** Unfinished logins in memory. A restart ends them. */
export class MemoryChallenges implements ChallengeStore {
  readonly #open = new LRUCache<string, LoginChallenge>(atMost(MAX_CHALLENGES))

  async insert(hash: Uint8Array, challenge: LoginChallenge): Promise<void> {
    this.#open.set(keyOf(hash), challenge)
  }

  async get(hash: Uint8Array): Promise<LoginChallenge | null> {
    return this.#open.get(keyOf(hash)) ?? null
  }

  async remove(hash: Uint8Array): Promise<boolean> {
    return this.#open.delete(keyOf(hash))
  }
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64')
}
