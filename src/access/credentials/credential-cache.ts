import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/clock.ts'
import { atMost } from '../../domain/lru.ts'
import type { Account } from '../principal.ts'
import type { VerifiedCredential } from './credential-verifier.ts'

export interface KnownCredential extends VerifiedCredential {
  account: Account
}

const MAX_CREDENTIALS = 10_000
/** Ms until a change by another process takes effect. */
const CHECK_MS = 1_000

/**
 * Every change of an account, key or session clears this cache. After a change by this process, the caller must call
 * `clear`. A change by another process takes effect within a second.
 */
export class CredentialCache {
  readonly #known = new LRUCache<string, KnownCredential>(atMost(MAX_CREDENTIALS))
  readonly #clock: Clock
  readonly #readVersion: () => number
  readonly #checkMs: number
  #version: number
  #epoch = 0
  #checkedAt: number

  /**
   * @param readVersion returns a number that differs after each commit of another process
   * @param checkMs minimum time in ms between two calls of `readVersion`
   */
  constructor(clock: Clock, readVersion: () => number, checkMs = CHECK_MS) {
    this.#clock = clock
    this.#readVersion = readVersion
    this.#checkMs = checkMs
    this.#version = readVersion()
    this.#checkedAt = clock.now()
  }

  get(hash: string): KnownCredential | undefined {
    this.#forgetIfChanged()
    return this.#known.get(hash)
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Caches a credential that was read during `epoch`, unless the cache has been cleared since. */
  set(hash: string, credential: KnownCredential, epoch: number): void {
    if (epoch === this.#epoch) this.#known.set(hash, credential)
  }

  clear(): void {
    this.#epoch++
    this.#known.clear()
  }

  #forgetIfChanged(): void {
    // If the clock was set back, also check the version. Otherwise the cache would keep outdated credentials.
    const now = this.#clock.now()
    if (Math.abs(now - this.#checkedAt) < this.#checkMs) return
    this.#checkedAt = now
    const version = this.#readVersion()
    if (version === this.#version) return
    this.#version = version
    this.clear()
  }
}
