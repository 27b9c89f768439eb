import type { NewSession, Page, SecondFactorAsked, SessionRow } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** Cursor and length of a page. */
export interface PageOptions {
  /** `next` of the previous page; default the beginning. */
  after?: string | undefined
  /** Rows per page, at most 1,000; default 100. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** Sign-in by password, and the sessions of the account. A session is a credential with every scope for 24 hours. */
export class Sessions {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Signs in. An account with a second factor needs a code next, see {@link confirm}. This client keeps its own
   * credential: make another one with the token as its key.
   *
   * @throws HoldfastError `INVALID_API_KEY` for a wrong email or password, `RATE_LIMIT`, `account_disabled`
   */
  signIn(email: string, password: string): Promise<NewSession | SecondFactorAsked> {
    return this.#connection.json('POST', '/auth/login', { json: { email, password } })
  }

  /**
   * Completes a sign-in within five minutes, by a code or a recovery code.
   *
   * @throws HoldfastError `2fa_invalid`, `INVALID_API_KEY` for a temporary token that is used or too old
   */
  confirm(temporaryToken: string, code: string): Promise<NewSession> {
    return this.#connection.json('POST', '/auth/2fa/verify-login', { json: { temporaryToken, code } })
  }

  /** Ends the session of this client. A key is not affected. */
  async signOut(): Promise<void> {
    await this.#connection.json('POST', '/auth/logout')
  }

  /** Returns a page of sessions, the oldest first. @throws HoldfastError `SESSION_REQUIRED` for a key */
  async list({ after, limit, signal }: PageOptions = {}): Promise<Page<SessionRow>> {
    const query = { after, limit: limit?.toString() }
    const answer = await this.#connection.json<{ sessions: SessionRow[]; next: string | null }>(
      'GET',
      '/auth/sessions',
      { query, signal },
    )
    return { rows: answer.sessions, next: answer.next }
  }

  /** Ends a session. @throws HoldfastError `NOT_FOUND`, `SESSION_REQUIRED` for a key */
  async end(id: string): Promise<void> {
    await this.#connection.json('DELETE', `/auth/sessions/${pathPart(id, 'the id')}`)
  }

  /** Ends all sessions but this one. Returns how many. @throws HoldfastError `SESSION_REQUIRED` for a key */
  async endOthers(): Promise<number> {
    return (await this.#connection.json<{ ended: number }>('DELETE', '/auth/sessions')).ended
  }
}
