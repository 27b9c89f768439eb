import type { Key, NewKey, User } from './account-answers.ts'
import type { Cluster } from './answers.ts'
import { type Connection, pathPart } from './connection.ts'

/** The account that asks. */
export class Account {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Who asks, with plan and usage. @throws HoldfastError `INVALID_API_KEY` */
  show(): Promise<User> {
    return this.#connection.json<User>('GET', '/users/me')
  }

  /**
   * Changes name or email; an empty name is none.
   *
   * @throws HoldfastError `CONFLICT` for an email that another account has, `SESSION_REQUIRED` for a key that changes it
   */
  update(changes: { name?: string | undefined; email?: string | undefined }): Promise<User> {
    return this.#connection.json<User>('PUT', '/users/me', { json: changes })
  }

  /** Ends all other sessions. @throws HoldfastError `VALIDATION`, `SESSION_REQUIRED` for a key */
  async changePassword(currentPassword: string, newPassword: string): Promise<void> {
    await this.#connection.json('PUT', '/users/me/password', { json: { currentPassword, newPassword } })
  }

  /** Those that the plan allows. @throws HoldfastError `missing_scope` without `cluster:read` */
  clusters(): Promise<Cluster[]> {
    return this.#connection.json<Cluster[]>('GET', '/users/me/clusters')
  }
}

/** What a new key may do, and until when. */
export interface NewKeyOptions {
  /** 1 to 64 printable characters, none of `/ \ ? # %`; unique within the account. */
  name: string
  /** Default `files:read`, `files:write` and `cluster:read`; at most those of who asks. */
  scopes?: readonly string[] | undefined
  /** A note of the holder's own. */
  label?: string | undefined
  /** Whole days. Default never. */
  expiresInDays?: number | undefined
  /** Networks that it may be used from, such as `192.0.2.0/24`; default all. */
  ipAllowlist?: readonly string[] | undefined
  /** Of the second factor, if the account has one. */
  totpCode?: string | undefined
}

/** What an upload token is to be: a key for so many uploads and nothing else, to be given to others. */
export interface UploadTokenOptions {
  /** How many uploads it is for, 1 to 10,000. */
  maxUses: number
  /** Default a random one. */
  name?: string | undefined
  label?: string | undefined
  /** Content bytes of one upload; default what the plan allows. */
  maxBytes?: number | undefined
  /** The cluster that its uploads go to; default that of the account. */
  cl?: string | undefined
  /** When its uploads expire, an RFC 3339 date-time; default never. */
  timelock?: string | undefined
  /** How long it can be used: 1 to 604,800, seven days; default 3,600. */
  expiresInSeconds?: number | undefined
  /** Networks that it may be used from; default all. */
  ipAllowlist?: readonly string[] | undefined
  /** Of the second factor, if the account has one. */
  totpCode?: string | undefined
}

/** The keys of the account that asks. */
export class Keys {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The secret is in the answer, and nowhere else. @throws HoldfastError `missing_scope`, `CONFLICT` for the name */
  create(options: NewKeyOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /** The secret is in the answer, and nowhere else. @throws HoldfastError `missing_scope` without `files:write` */
  createUploadToken(options: UploadTokenOptions): Promise<NewKey> {
    return this.#connection.json<NewKey>('POST', '/tokens/generate', { json: options })
  }

  /** All but upload tokens, the oldest first. */
  list(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list')
  }

  /** The upload tokens, the oldest first. */
  listUploadTokens(): Promise<Key[]> {
    return this.#connection.json<Key[]>('GET', '/tokens/list', { query: { upload: 'true' } })
  }

  /**
   * Takes a key or upload token away, and the keys it has made.
   *
   * @throws HoldfastError `NOT_FOUND`; `2fa_required` without a code of the second factor, if the account has one
   */
  async revoke(name: string, { totpCode }: { totpCode?: string | undefined } = {}): Promise<void> {
    const json = totpCode === undefined ? undefined : { totpCode }
    await this.#connection.json('DELETE', `/tokens/revoke/${pathPart(name, 'the name')}`, { json })
  }
}
