import type { Page } from '../../catalogue/page.ts'
import type { Session, SessionStore } from '../../catalogue/session-store.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'

export class SessionRegistry {
  readonly #store: SessionStore
  readonly #cache: CredentialCache
  readonly #clock: Clock

  constructor(store: SessionStore, cache: CredentialCache, clock: Clock) {
    this.#store = store
    this.#cache = cache
    this.#clock = clock
  }

  list(accountId: string, { after, limit }: { after: string | null; limit: number }): Promise<Page<Session>> {
    return this.#store.list(accountId, this.#clock.now(), { after, limit })
  }

  async end(accountId: string, id: string): Promise<void> {
    const session = await this.#store.get(id)
    const ended = session?.accountId === accountId && (await this.#store.end(id))
    this.#cache.clear()
    if (!ended) throw new HoldfastError('NOT_FOUND', `there is no session ${JSON.stringify(id)}`)
  }

  async endAll(accountId: string, keep: string | null = null): Promise<number> {
    const ended = await this.#store.endAll(accountId, keep)
    this.#cache.clear()
    return ended
  }
}
