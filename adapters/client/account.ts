import type { Key, NewKey, User } from './account-answers.ts'
import type { Cluster } from './answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** The account of the credential. */
export class Account {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Returns the account with its plan and usage. @throws HoldfastError `INVALID_API_KEY` */
  show(): Promise<User> {
    return this.#connection.json<User>('GET', '/users/me')
  }

  /**
   * Changes name or email; an empty name removes it.
   *
   * @throws HoldfastError `CONFLICT` for an email of another account, `SESSION_REQUIRED` if a key changes the email
   */
  update(changes: { name?: string | undefined; email?: string | undefined }): Promise<User> {
    return this.#connection.json<User>('PUT', '/users/me', { json: changes })
  }

  /**
   * Changes the password and ends all other sessions. @throws HoldfastError `VALIDATION`, `SESSION_REQUIRED` for a key
   */
  async changePassword(currentPassword: string, newPassword: string): Promise<void> {
    await this.#connection.json('PUT', '/users/me/password', { json: { currentPassword, newPassword } })
  }

  /** Returns the clusters that the plan allows. @throws HoldfastError `missing_scope` without `cluster:read` */
  clusters(): Promise<Cluster[]> {
    return this.#connection.json<Cluster[]>('GET', '/users/me/clusters')
  }
}

/** Options of a new key. */
export interface NewKeyOptions {
  /** 1 to 64 printable characters, none of `/ \ ? # %`; unique within the account. */
  name: string
  /** Default `files:read`, `files:write` and `cluster:read`; at most the scopes of the caller. */
  scopes?: readonly string[] | undefined
  /** Free text for the account's own use. */
  label?: string | undefined
  /** Whole days until it expires; default never. */
  expiresInDays?: number | undefined
  /** Networks that may use it, such as `192.0.2.0/24`; default all. */
  ipAllowlist?: readonly string[] | undefined
  /** Code of the second factor, if the account has one. */
  totpCode?: string | undefined
}

/** Options of an upload token: a key for a limited number of uploads, safe to hand out. */
export interface UploadTokenOptions {
  /** Most uploads, 1 to 10,000. */
  maxUses: number
  /** Default: a random name. */
  name?: string | undefined
  label?: string | undefined
  /** Most content bytes of one upload; default: the plan's limit. */
  maxBytes?: number | undefined
  /** Cluster of the uploads; default: the account's. */
  cl?: string | undefined
  /** Expiry of the uploads, an RFC 3339 date-time; default never. */
  timelock?: string | undefined
  /** Lifetime of the token: 1 to 604,800 seconds (seven days); default 3,600. */
  expiresInSeconds?: number | undefined
  /** Networks that may use it; default all. */
  ipAllowlist?: readonly string[] | undefined
  /** Code of the second factor, if the account has one. */
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
   * Creates a key. Only this answer contains the secret. @throws HoldfastError `missing_scope`, `CONFLICT` for the name
   */
  create(options: NewKeyOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /**
   * Creates an upload token. Only this answer contains the secret. @throws HoldfastError `missing_scope` without
   * `files:write`
   */
  createUploadToken(options: UploadTokenOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /** Lists the keys except upload tokens, the oldest first. */
  list(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list')
  }

  /** Lists the upload tokens, the oldest first. */
  listUploadTokens(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list', { query: { upload: 'true' } })
  }

  /**
   * Revokes a key or upload token, and the keys it has created.
   *
   * @throws HoldfastError `NOT_FOUND`; `2fa_required` without a code of the second factor, if the account has one
   */
  async revoke(name: string, { totpCode }: { totpCode?: string | undefined } = {}): Promise<void> {
    const json = totpCode === undefined ? undefined : { totpCode }
    await this.#connection.json('DELETE', `/tokens/revoke/${pathPart(name, 'the name')}`, { json })
  }
}
