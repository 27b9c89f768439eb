import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/clock.ts'
import type { Account } from '../principal.ts'
import type { VerifiedCredential } from './credential-verifier.ts'

/** A credential that was found good, and the account it speaks for. */
export interface KnownCredential extends VerifiedCredential {
  account: Account
}

const MAX_CREDENTIALS = 10_000
/** How late a change made by another process may be noticed. */
const CHECK_MS = 1_000

/**
 * Credentials that need not be looked up again. All are forgotten when something about accounts or keys changes:
 * at once if it is in this process (`clear`), within a second if another one commits to the database.
 */
export class CredentialCache {
  readonly #known = new LRUCache<string, KnownCredential>({ max: MAX_CREDENTIALS })
  readonly #clock: Clock
  readonly #readVersion: () => number
  readonly #checkMs: number
  #version: number
  #epoch = 0
  #checkedAt: number

  /**
   * `readVersion` returns another number once another process has committed; it is asked once in `checkMs` milliseconds
   * at most, 0 for whenever a credential is looked for.
   */
  constructor(clock: Clock, readVersion: () => number, checkMs = CHECK_MS) {
    this.#clock = clock
    this.#readVersion = readVersion
    this.#checkMs = checkMs
    this.#version = readVersion()
    this.#checkedAt = clock.now()
  }

  /** By the hash of the secret. */
  get(hash: string): KnownCredential | undefined {
    this.#forgetIfChanged()
    return this.#known.get(hash)
  }

  /** Another number once something has changed. */
  get epoch(): number {
    return this.#epoch
  }

  /** Keeps a credential that was looked up in `epoch`, unless something has changed since. */
  set(hash: string, credential: KnownCredential, epoch: number): void {
    if (epoch === this.#epoch) this.#known.set(hash, credential)
  }

  clear(): void {
    this.#epoch++
    this.#known.clear()
  }

  #forgetIfChanged(): void {
    // Either way: a clock that was set back must not keep old credentials.
    const now = this.#clock.now()
    if (Math.abs(now - this.#checkedAt) < this.#checkMs) return
    this.#checkedAt = now
    const version = this.#readVersion()
    if (version === this.#version) return
    this.#version = version
    this.clear()
  }
}
