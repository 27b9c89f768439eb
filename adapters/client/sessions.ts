import type { NewSession, Page, SecondFactorAsked, SessionRow } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** Where a page of a list begins, and how long it is. */
export interface PageOptions {
  /** The `next` of the page before; default the beginning. */
  after?: string | undefined
  /** Rows of a page, at most 1,000; default 100. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** Signing in with a password, and where the account is signed in. A session is a credential with every scope for 24 hours. */
export class Sessions {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Asks for a session; an account with a second factor is asked for a code of it first, see {@link confirm}. The
   * client itself goes on as whom it was made for: make another with the token as its key.
   *
   * @throws HoldfastError `INVALID_API_KEY` for a wrong email or password, `RATE_LIMIT`, `account_disabled`
   */
  signIn(email: string, password: string): Promise<NewSession | SecondFactorAsked> {
    return this.#connection.json('POST', '/auth/login', { json: { email, password } })
  }

  /**
   * The second half of signing in, within five minutes; the code may be a recovery code.
   *
   * @throws HoldfastError `2fa_invalid`, `INVALID_API_KEY` for a temporary token that is used or too old
   */
  confirm(temporaryToken: string, code: string): Promise<NewSession> {
    return this.#connection.json('POST', '/auth/2fa/verify-login', { json: { temporaryToken, code } })
  }

  /** Ends the session that the client was made for. A key is not affected. */
  async signOut(): Promise<void> {
    await this.#connection.json('POST', '/auth/logout')
  }

  /** A page, the oldest first. @throws HoldfastError `SESSION_REQUIRED` for a key */
  async list({ after, limit, signal }: PageOptions = {}): Promise<Page<SessionRow>> {
    const query = { after, limit: limit?.toString() }
    const answer = await this.#connection.json<{ sessions: SessionRow[]; next: string | null }>(
      'GET',
      '/auth/sessions',
      { query, signal },
    )
    return { rows: answer.sessions, next: answer.next }
  }

  /** @throws HoldfastError `NOT_FOUND`, `SESSION_REQUIRED` for a key */
  async end(id: string): Promise<void> {
    await this.#connection.json('DELETE', `/auth/sessions/${pathPart(id, 'the id')}`)
  }

  /** Ends all but the one that asks. Returns how many. @throws HoldfastError `SESSION_REQUIRED` for a key */
  async endOthers(): Promise<number> {
    return (await this.#connection.json<{ ended: number }>('DELETE', '/auth/sessions')).ended
  }
}
