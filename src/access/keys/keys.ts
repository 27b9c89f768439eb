import type { Principal } from '../principal.ts'
import type { ApiKey } from './api-key.ts'
import type { KeyInput } from './key-input.ts'

/** A new key and its secret. */
export interface NewKey {
  /** Show the secret now, because the catalogue stores only its hash. */
  secret: string
  key: ApiKey
}

/** Manages the API keys of all accounts. A change is durable when its promise resolves. */
export interface Keys {
  /**
   * Creates a key as the operator.
   * @throws HoldfastError `VALIDATION`, `NOT_FOUND`, `CONFLICT`, `QUOTA_EXCEEDED`; for an upload token also
   * `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   * @example const { secret } = await engine.keys.create(account, { name: 'ci', scopes: ['files:write'] })
   */
  create(account: string, input: KeyInput): Promise<NewKey>
  /**
   * Creates a key for the caller. If the caller uses a key, the new key cannot have more scopes, a later expiry or more
   * addresses than the caller's key. Revoking a key also revokes all keys created with it. An account with a second
   * factor needs a `code`.
   * @throws HoldfastError `VALIDATION`, `missing_scope`, `IP_NOT_ALLOWED`, `CONFLICT` if a live key has the name,
   * `QUOTA_EXCEEDED` if the account has the maximum number of keys, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   * @example const { secret } = await engine.keys.generate(principal, { name: 'ci', expiresInDays: 30 })
   */
  generate(principal: Principal, input: KeyInput, code?: string): Promise<NewKey>
  /**
   * Stores a secret that the operator chose, as the key `name` with all scopes and without expiry. If the key `name`
   * exists, replaces its secret. Keys created with the previous secret remain.
   * @throws HoldfastError `VALIDATION` unless the secret has 32 to 1,024 printable ASCII characters; `CONFLICT` if a
   * key of another account or a restricted key has the same secret
   * @example await engine.keys.adopt(account, 'bootstrap', secretOfTheOperator)
   */
  adopt(account: string, name: string, secret: string): Promise<ApiKey>
  /**
   * Returns the first thousand keys of an account, oldest first, including expired keys. If `isUpload` is true, returns
   * upload tokens instead. Use {@link Keys.pages} to get more keys.
   * @example const names = (await engine.keys.list(account)).map(({ name }) => name)
   */
  list(account: string, options?: { isUpload?: boolean }): Promise<ApiKey[]>
  /**
   * Yields all keys of an account except upload tokens, oldest first, in pages of one thousand.
   * @example for await (const keys of engine.keys.pages(account)) console.log(keys.length)
   */
  pages(account: string): AsyncIterable<ApiKey[]>
  /**
   * Revokes a key of the caller's account, and all keys created with it. The caller needs a session, the key itself, or
   * another key with all scopes of that key. An account with a second factor needs a `code`.
   * @throws HoldfastError `NOT_FOUND`, `missing_scope`, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   * @example await engine.keys.revoke(principal, 'ci')
   */
  revoke(principal: Principal, name: string, code?: string): Promise<void>
  /**
   * Revokes a key as the operator, and all keys created with it.
   * @throws HoldfastError `NOT_FOUND`
   * @example await engine.keys.revokeByName(account, 'ci')
   */
  revokeByName(account: string, name: string): Promise<void>
}
