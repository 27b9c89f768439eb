import type { Principal } from '../principal.ts'
import type { ApiKey } from './api-key.ts'
import type { KeyInput } from './key-input.ts'

/** A new key together with its secret, which is never to be had again. */
export interface NewKey {
  /** To be shown this once: of it only a hash is stored. */
  secret: string
  key: ApiKey
}

/** The API keys of all accounts. Every change is durable when its promise resolves. */
export interface Keys {
  /** Makes a key on the owner's authority. @throws HoldfastError `VALIDATION`, `NOT_FOUND`, `CONFLICT`, `QUOTA_EXCEEDED` */
  create(account: string, input: KeyInput): Promise<NewKey>
  /**
   * Makes a key for whoever is asking. A key can make only keys that may do no more than itself: no other scopes, no
   * later expiry, no further addresses; when it is revoked, so are they. An account with a second factor has to give a
   * code of it.
   *
   * @throws HoldfastError `VALIDATION`, `missing_scope`, `IP_NOT_ALLOWED`, `CONFLICT` if a live key has the name,
   * `QUOTA_EXCEEDED` if the plan allows no more keys, `2fa_required`, `2fa_invalid`, `RATE_LIMIT`.
   */
  generate(principal: Principal, input: KeyInput, code?: string): Promise<NewKey>
  /**
   * Makes a secret that was chosen elsewhere the account's key `name`, with every scope and without expiry. The same
   * secret again changes nothing; another one takes the place of the first, and what that has minted stays.
   *
   * @throws HoldfastError `VALIDATION` unless the secret is 32 to 1,024 printable characters, `CONFLICT` if it is
   * already a lesser key or another account's.
   */
  adopt(account: string, name: string, secret: string): Promise<ApiKey>
  /**
   * The first thousand, oldest first, expired ones included: upload tokens, or all other keys, of which
   * {@link Keys.pages} has more.
   */
  list(account: string, options?: { isUpload?: boolean }): Promise<ApiKey[]>
  /** All keys of an account but upload tokens, oldest first, a thousand at a time. */
  pages(account: string): AsyncIterable<ApiKey[]>
  /**
   * Takes a key away from whoever is asking, and with it what it minted: a session may, that key itself, or a key with
   * every scope of it. An account with a second factor has to give a code of it.
   *
   * @throws HoldfastError `NOT_FOUND`, `missing_scope`, `2fa_required`, `2fa_invalid` or `RATE_LIMIT`.
   */
  revoke(principal: Principal, name: string, code?: string): Promise<void>
  /** Takes a key away on the owner's authority, and with it what it minted. @throws HoldfastError `NOT_FOUND` */
  revokeByName(account: string, name: string): Promise<void>
}
