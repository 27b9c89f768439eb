import type { NewSession, Page, SecondFactorAsked, SessionRow } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** Position and size of a page. */
export interface PageOptions {
  /** The `next` field of the previous page. Default: the first page. */
  after?: string | undefined
  /** Default: 100. Maximum: 1,000. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** Options of a sign-in. */
export interface SignInOptions {
  /**
   * True for a session that a browser keeps over a reload. It makes nothing that outlives it without a recent proof: see
   * {@link Sessions.prove}. Default: false.
   */
  keep?: boolean | undefined
}

/** A proof of the user of a kept sign-in: its key, the password, or an answer of the provider. */
export type SignInProof = ({ key: string } | { password: string } | { secret: string; answer: string }) & {
  /** Code of the second factor, or a recovery code. Needed if the account has a second factor. */
  code?: string | undefined
}

/** Sign-in by password, and the sessions of the account. A session has every scope for 24 hours. */
export class Sessions {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Signs in with a password. If the account has a second factor, call {@link confirm} next.
   *
   * To use the session, create another client with its token as the `key`.
   *
   * @throws HoldfastError `INVALID_API_KEY` for a wrong email or password, `RATE_LIMIT`, `account_disabled`
   * @example const session = await client.sessions.signIn('ada@example.org', password)
   */
  signIn(email: string, password: string, options: SignInOptions = {}): Promise<NewSession | SecondFactorAsked> {
    return this.#connection.json('POST', '/auth/login', { json: { email, password, ...options } })
  }

  /**
   * Completes a sign-in with a second-factor code or a recovery code, within five minutes.
   *
   * @throws HoldfastError `2fa_invalid` for a wrong code, `INVALID_API_KEY` if the temporary token was used before or
   * has expired
   * @example const { token } = await client.sessions.confirm(temporaryToken, '123456')
   */
  confirm(temporaryToken: string, code: string, options: SignInOptions = {}): Promise<NewSession> {
    return this.#connection.json('POST', '/auth/2fa/verify-login', { json: { temporaryToken, code, ...options } })
  }

  /**
   * Sets the password with the token of a link. Returns the email of the account.
   *
   * @throws HoldfastError `INVALID_API_KEY` for an unknown, used or expired link, `VALIDATION` for a bad password
   * @example const email = await client.sessions.setPassword(tokenOfTheLink, password)
   */
  async setPassword(token: string, password: string): Promise<string> {
    const answer = await this.#connection.json<{ email: string }>('POST', '/auth/password', {
      json: { token, password },
    })
    return answer.email
  }

  /**
   * Begins a sign-in with the provider of the node. Open `url`, and keep `secret` for {@link finishProvider}.
   * @param options.proof true for {@link prove}: the provider asks the user again
   * @example const { url, secret } = await client.sessions.startProvider()
   */
  startProvider(options: { proof?: boolean | undefined } = {}): Promise<{ url: string; secret: string }> {
    return this.#connection.json('POST', '/auth/provider/start', { json: options })
  }

  /**
   * Completes a sign-in with the query that the provider added to the address.
   *
   * @throws HoldfastError `INVALID_API_KEY` if the answer is refused, `account_disabled`, `UNAVAILABLE`
   * @example const session = await client.sessions.finishProvider(secret, location.search)
   */
  finishProvider(secret: string, answer: string, options: SignInOptions = {}): Promise<NewSession | SecondFactorAsked> {
    return this.#connection.json('POST', '/auth/provider/finish', { json: { secret, answer, ...options } })
  }

  /**
   * Proves that the user of a kept sign-in is there, after an error `proof_required`. Its detail `proof` names what to
   * send. Returns until when the proof counts.
   *
   * @throws HoldfastError `VALIDATION` for a wrong key, password or answer, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   * @example await client.sessions.prove({ password })
   */
  async prove(proof: SignInProof): Promise<string> {
    return (await this.#connection.json<{ until: string }>('POST', '/auth/proof', { json: proof })).until
  }

  /**
   * Ends the session of this client, or revokes its key if that only keeps a sign-in. Does nothing for other keys.
   * @example await client.sessions.signOut()
   */
  async signOut(): Promise<void> {
    await this.#connection.json('POST', '/auth/logout')
  }

  /**
   * Returns a page of sessions, oldest first.
   * @throws HoldfastError `SESSION_REQUIRED` if the credential is a key
   * @example const { rows } = await client.sessions.list({ limit: 20 })
   */
  list(options: PageOptions = {}): Promise<Page<SessionRow>> {
    return this.#connection.page('/auth/sessions', 'sessions', options)
  }

  /**
   * Ends a session.
   * @throws HoldfastError `NOT_FOUND`, `SESSION_REQUIRED` if the credential is a key
   * @example await client.sessions.end(id)
   */
  async end(id: string): Promise<void> {
    await this.#connection.json('DELETE', `/auth/sessions/${pathPart(id, 'the id')}`)
  }

  /**
   * Ends all sessions except the client's own, and returns their number.
   *
   * @throws HoldfastError `SESSION_REQUIRED` if the credential is a key
   * @example const ended = await client.sessions.endOthers()
   */
  async endOthers(): Promise<number> {
    return (await this.#connection.json<{ ended: number }>('DELETE', '/auth/sessions')).ended
  }
}
