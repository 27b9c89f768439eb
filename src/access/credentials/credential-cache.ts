import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/clock.ts'
import type { Account } from '../principal.ts'
import type { VerifiedCredential } from './credential-verifier.ts'

/** A valid credential and its account. */
export interface KnownCredential extends VerifiedCredential {
  account: Account
}

const MAX_CREDENTIALS = 10_000
/** Longest delay before a change by another process takes effect. */
const CHECK_MS = 1_000

/**
 * A cache of valid credentials. Any change of an account, key or session clears it. Changes by this process do so at
 * once (`clear`), changes by other processes within a second.
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
   * @param readVersion returns another number after each commit of another process
   * @param checkMs shortest time between two calls of `readVersion`; 0 calls it on each `get`
   */
  constructor(clock: Clock, readVersion: () => number, checkMs = CHECK_MS) {
    this.#clock = clock
    this.#readVersion = readVersion
    this.#checkMs = checkMs
    this.#version = readVersion()
    this.#checkedAt = clock.now()
  }

  /** Returns a credential by the hash of its secret. */
  get(hash: string): KnownCredential | undefined {
    this.#forgetIfChanged()
    return this.#known.get(hash)
  }

  /** Number that changes with each clearing. */
  get epoch(): number {
    return this.#epoch
  }

  /** Caches a credential read in `epoch`, unless the cache was cleared since. */
  set(hash: string, credential: KnownCredential, epoch: number): void {
    if (epoch === this.#epoch) this.#known.set(hash, credential)
  }

  clear(): void {
    this.#epoch++
    this.#known.clear()
  }

  #forgetIfChanged(): void {
    // A clock that was set back also triggers a check. Otherwise it would keep stale credentials.
    const now = this.#clock.now()
    if (Math.abs(now - this.#checkedAt) < this.#checkMs) return
    this.#checkedAt = now
    const version = this.#readVersion()
    if (version === this.#version) return
    this.#version = version
    this.clear()
  }
}
