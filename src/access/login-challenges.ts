import { LRUCache } from 'lru-cache'
import type { Clock } from '../domain/clock.ts'
import { hashSecret, type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'

/** A login whose password was right and whose code is still to come. */
export interface LoginChallenge {
  accountId: string
  /** The stored password by then: a login does not outlive its change. */
  passwordHash: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

const LIFE_MS = 5 * 60 * 1_000
const MAX_CHALLENGES = 10_000
const TOKEN_BYTES = 32

/** Logins between password and code, in memory: who is in the middle of one at a restart begins anew. */
export class LoginChallenges {
  readonly #open = new LRUCache<string, LoginChallenge>({ max: MAX_CHALLENGES })
  readonly #clock: Clock
  readonly #random: RandomBytes

  constructor(clock: Clock, random: RandomBytes = systemRandom) {
    this.#clock = clock
    this.#random = random
  }

  /** Returns the temporary token that the code is to come with, within five minutes. */
  open(accountId: string, passwordHash: string): string {
    const token = `hf2fa_${randomId(this.#random, TOKEN_BYTES)}`
    this.#open.set(keyOf(token), { accountId, passwordHash, expiresAt: this.#clock.now() + LIFE_MS })
    return token
  }

  /** Null once it has expired or is done. */
  find(token: string): LoginChallenge | null {
    const challenge = this.#open.get(keyOf(token))
    return challenge !== undefined && this.#clock.now() < challenge.expiresAt ? challenge : null
  }

  /** Ends it. Returns false if it had ended already, so that of two at once only one goes on. */
  close(token: string): boolean {
    return this.#open.delete(keyOf(token))
  }
}

function keyOf(token: string): string {
  return Buffer.from(hashSecret(token)).toString('base64')
}
