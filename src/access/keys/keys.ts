import type { Principal } from '../principal.ts'
import type { ApiKey } from './api-key.ts'
import type { KeyInput } from './key-input.ts'

/** A new key and its secret. */
export interface NewKey {
  /** Show it now: the catalogue stores only its hash. */
  secret: string
  key: ApiKey
}

/** The API keys of all accounts. Every change is durable when its promise resolves. */
export interface Keys {
  /** Creates a key as the operator. @throws HoldfastError `VALIDATION`, `NOT_FOUND`, `CONFLICT`, `QUOTA_EXCEEDED` */
  create(account: string, input: KeyInput): Promise<NewKey>
  /**
   * Creates a key for the caller. A key creates only keys with no more rights than its own: no other scopes, no later
   * expiry, no other addresses. Revoking a key revokes all keys created with it. An account with a second factor needs
   * a `code`.
   *
   * @throws HoldfastError `VALIDATION`, `missing_scope`, `IP_NOT_ALLOWED`, `CONFLICT` if a live key has the name,
   * `QUOTA_EXCEEDED` at the plan's number of keys, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   */
  generate(principal: Principal, input: KeyInput, code?: string): Promise<NewKey>
  /**
   * Stores a secret that the operator chose as the key `name`, with all scopes and no expiry. A repeated call with the
   * same secret changes nothing. Another secret replaces the first, and the keys created with the first remain.
   *
   * @throws HoldfastError `VALIDATION` unless the secret has 32 to 1,024 printable ASCII characters, `CONFLICT` if
   * another account or a restricted key has it
   */
  adopt(account: string, name: string, secret: string): Promise<ApiKey>
  /**
   * Lists the first thousand keys of an account, oldest first, expired ones included. With `isUpload` lists upload
   * tokens instead. For more keys use {@link Keys.pages}.
   */
  list(account: string, options?: { isUpload?: boolean }): Promise<ApiKey[]>
  /** Lists all keys of an account except upload tokens, oldest first, in pages of a thousand. */
  pages(account: string): AsyncIterable<ApiKey[]>
  /**
   * Revokes a key of the caller, and all keys created with it. A session, the key itself, or a key with all its scopes
   * may do this. An account with a second factor needs a `code`.
   *
   * @throws HoldfastError `NOT_FOUND`, `missing_scope`, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   */
  revoke(principal: Principal, name: string, code?: string): Promise<void>
  /** Revokes a key as the operator, and all keys created with it. @throws HoldfastError `NOT_FOUND` */
  revokeByName(account: string, name: string): Promise<void>
}
