import type { SessionTable } from '../catalogue/sqlite/session-table.ts'
import type { Clock } from '../domain/clock.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'
import type { CredentialCache } from './credential-cache.ts'
import type { SessionTokens } from './session-token.ts'

export const SESSION_MS = 24 * 60 * 60 * 1_000

export interface SessionServiceOptions {
  table: SessionTable
  tokens: SessionTokens
  writes: WriteQueue
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

/** Sessions: begun by a login, ended by a logout or a new password, and by themselves after 24 hours. */
export class SessionService {
  readonly #table: SessionTable
  readonly #tokens: SessionTokens
  readonly #writes: WriteQueue
  readonly #cache: CredentialCache
  readonly #clock: Clock
  readonly #random: RandomBytes

  constructor(options: SessionServiceOptions) {
    this.#table = options.table
    this.#tokens = options.tokens
    this.#writes = options.writes
    this.#cache = options.cache
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
  }

  /**
   * Begins a session and returns its token. `check` runs in the transaction that does so, and throws if there is a
   * reason by then why it must not.
   */
  async begin(accountId: string, check: () => void): Promise<string> {
    const now = this.#clock.now()
    // Tokens tell time in whole seconds.
    const createdAt = Math.floor(now / 1_000) * 1_000
    const session = { id: randomId(this.#random, 16), accountId, createdAt, expiresAt: createdAt + SESSION_MS }
    const token = await this.#tokens.sign(session)
    await this.#writes.run(
      () => {
        check()
        this.#table.deleteExpired(now)
        this.#table.insert(session)
      },
      { durable: true },
    )
    return token
  }

  /** Ends one session, if it has not ended already. */
  async end(id: string): Promise<void> {
    await this.#writes.run(() => this.#table.delete(id), { durable: true })
    this.#cache.clear()
  }
}
