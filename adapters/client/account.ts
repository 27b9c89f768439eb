import type { Key, NewKey, User } from './account-answers.ts'
import type { Cluster } from './answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** The account that the client's credential belongs to. */
export class Account {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Returns the account with its plan and usage.
   * @throws HoldfastError `INVALID_API_KEY`
   * @example const { plan } = await client.account.show()
   */
  show(): Promise<User> {
    return this.#connection.json<User>('GET', '/users/me')
  }

  /**
   * Changes the name, the email or the visibility of later records whose request names none. An empty name removes the
   * name.
   *
   * @throws HoldfastError `CONFLICT` if another account has the email, `SESSION_REQUIRED` if a key changes the email
   * @example await client.account.update({ name: 'Ada' })
   */
  update(changes: {
    name?: string | undefined
    email?: string | undefined
    defaultVisibility?: 'public' | 'private' | undefined
  }): Promise<User> {
    return this.#connection.json<User>('PUT', '/users/me', { json: changes })
  }

  /**
   * Changes the password and ends all other sessions.
   *
   * @throws HoldfastError `VALIDATION`, `SESSION_REQUIRED` if the credential is a key
   * @example await client.account.changePassword(password, 'a new long password')
   */
  async changePassword(currentPassword: string, newPassword: string): Promise<void> {
    await this.#connection.json('PUT', '/users/me/password', { json: { currentPassword, newPassword } })
  }

  /**
   * Returns the clusters that the plan allows.
   *
   * @throws HoldfastError `missing_scope` if the key lacks `cluster:read`
   * @example const ids = (await client.account.clusters()).map(({ id }) => id)
   */
  clusters(): Promise<Cluster[]> {
    return this.#connection.json<Cluster[]>('GET', '/users/me/clusters')
  }
}

/** Options of a new key. */
export interface NewKeyOptions {
  /** Unique within the account: 1 to 64 printable characters, none of them `/ \ ? # %`. */
  name: string
  /** The caller must have these scopes as well. Default: `files:read`, `files:write` and `cluster:read`. */
  scopes?: readonly string[] | undefined
  label?: string | undefined
  /** In whole days. Default: the key never expires. */
  expiresInDays?: number | undefined
  /** Networks from which the key may be used, such as `192.0.2.0/24`. Default: all. */
  ipAllowlist?: readonly string[] | undefined
  /** Needed if the account has a second factor. */
  totpCode?: string | undefined
}

/** Options of an upload token: a key that allows a limited number of uploads and nothing else. */
export interface UploadTokenOptions {
  /** From 1 to 10,000. */
  maxUses: number
  /** Default: a random name. */
  name?: string | undefined
  label?: string | undefined
  /** Maximum content size of one upload. Default: the plan's limit. */
  maxBytes?: number | undefined
  /** Cluster of the uploads. Default: the account's default cluster. */
  cl?: string | undefined
  /** Expiry of the uploads, as an RFC 3339 date-time. Default: never. */
  timelock?: string | undefined
  /** From 1 to 604,800 (seven days). Default: 3,600. */
  expiresInSeconds?: number | undefined
  /** Networks from which the token may be used. Default: all. */
  ipAllowlist?: readonly string[] | undefined
  /** Needed if the account has a second factor. */
  totpCode?: string | undefined
}

/** API keys and upload tokens of the account. */
export class Keys {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Creates a key. Only this response contains the key's secret.
   *
   * @throws HoldfastError `missing_scope` if the caller lacks a scope, `CONFLICT` if another key has the name
   * @example const { token } = await client.keys.create({ name: 'backup', scopes: ['files:read'] })
   */
  create(options: NewKeyOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /**
   * Creates an upload token. Only this response contains the token's secret.
   *
   * @throws HoldfastError `missing_scope` if the caller lacks `files:write`
   * @example const { token } = await client.keys.createUploadToken({ maxUses: 1 })
   */
  createUploadToken(options: UploadTokenOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /**
   * Creates a key that keeps the sign-in of one tab of the console with this client's key. It ends after twelve hours at
   * most, or at {@link Sessions.signOut}.
   *
   * @throws HoldfastError `CONFLICT` for a session, `missing_scope` or `2fa_required` if the key may create none,
   * `QUOTA_EXCEEDED` if the key already keeps 16 tabs
   * @example const { token } = await client.keys.createForConsole()
   */
  createForConsole(): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/console')
  }

  /**
   * Ends all sign-ins of {@link createForConsole} with this client's key, or with the key behind it. Returns their number.
   *
   * @throws HoldfastError `CONFLICT` for a session
   * @example const ended = await client.keys.endConsoles()
   */
  async endConsoles(): Promise<number> {
    return (await this.#connection.json<{ ended: number }>('DELETE', '/tokens/console')).ended
  }

  /**
   * Lists the keys, oldest first, without upload tokens.
   * @example const names = (await client.keys.list()).map(({ name }) => name)
   */
  list(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list')
  }

  /**
   * Lists the upload tokens, oldest first.
   * @example const tokens = await client.keys.listUploadTokens()
   */
  listUploadTokens(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list', { query: { upload: 'true' } })
  }

  /**
   * Revokes a key or an upload token, and all keys that it created.
   *
   * @throws HoldfastError `NOT_FOUND`; `2fa_required` if the account has a second factor and `totpCode` is missing
   * @example await client.keys.revoke('backup')
   */
  async revoke(name: string, { totpCode }: { totpCode?: string | undefined } = {}): Promise<void> {
    const json = totpCode === undefined ? undefined : { totpCode }
    await this.#connection.json('DELETE', `/tokens/revoke/${pathPart(name, 'the name')}`, { json })
  }
}
