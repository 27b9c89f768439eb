import type { Visibility } from '../domain/visibility.ts'
import type { Page, PageRequest } from './page.ts'

/** A user of a sign-in provider. Providers never give a subject to another user. */
export interface IdentityKey {
  issuer: string
  subject: string
}

/** An account: a person or a program that stores content. Times are milliseconds since the epoch. */
export interface Account {
  id: string
  email: string
  name: string | null
  /** If the configuration no longer has this plan, the limits of the plan `free` apply. */
  plan: string
  /** `owner` for an operator of the node. */
  role: 'owner' | 'user'
  /** The cluster for requests that name no cluster; null for the engine's default cluster. */
  defaultCluster: string | null
  /** If true, the node refuses all keys and sessions of the account. The content stays. */
  disabled: boolean
  createdAt: number
  /** Number by which roots name their owner. Null for an account of an earlier version, which owns no roots. */
  owner: number | null
  /** Visibility of records whose request names none. */
  defaultVisibility: Visibility
}

/** A link that sets the password of an account. */
export interface PasswordLinkRow {
  accountId: string
  /** SHA-256 hash of the token. */
  hash: Uint8Array
  /** In ms since the epoch. */
  expiresAt: number
}

/** Changes to an account. An absent field keeps its value. */
export type AccountChanges = Partial<
  Pick<Account, 'email' | 'name' | 'plan' | 'defaultCluster' | 'defaultVisibility' | 'disabled'>
>

/**
 * The store of accounts. Each method is one transaction, durable when its promise resolves.
 * Only {@link deleted}, {@link purge} and {@link forget} read accounts that are marked as deleted.
 */
export interface AccountStore {
  /** Inserts an account. Emails that differ only in upper and lower case count as equal. */
  insert(account: Account, passwordHash: string | null): Promise<'inserted' | 'email_taken'>
  get(id: string): Promise<Account | null>
  findByEmail(email: string): Promise<Account | null>
  /** Returns the oldest owner. */
  findOwner(): Promise<Account | null>
  /** Lists accounts, oldest first. */
  list(request: PageRequest): Promise<Page<Account>>
  /** Returns up to `limit` accounts after the first `offset`, oldest first, and the number of all accounts. */
  slice(offset: number, limit: number): Promise<{ rows: Account[]; total: number }>
  /** Returns `last_owner` if the change would disable the only enabled owner. */
  change(id: string, changes: AccountChanges): Promise<Account | 'no_account' | 'email_taken' | 'last_owner'>

  /** Gives a number to an account that has none. */
  giveOwner(id: string, owner: number): Promise<void>

  /** Returns null if the account does not exist or has no password. */
  passwordHash(id: string): Promise<string | null>
  /** Sets the password, and ends all sessions of the account except `keepSession`. */
  setPassword(id: string, hash: string, keepSession: string | null): Promise<boolean>
  /** Replaces the password hash if the stored hash equals `former`. Returns whether the hash was replaced. */
  replacePassword(id: string, former: string, hash: string): Promise<boolean>

  /**
   * Gives an identity to an account, which loses its former one. Its plan stays until the user signs in. Returns the
   * account; `owner` for an owner; `taken` if another account has the identity.
   */
  setIdentity(accountId: string, identity: IdentityKey): Promise<Account | 'no_account' | 'owner' | 'taken'>
  /** Stores a link, which replaces the former one of the account. Returns false if there is no such account. */
  putPasswordLink(link: PasswordLinkRow): Promise<boolean>
  /** Returns whether a link with this hash is live. */
  hasPasswordLink(hash: Uint8Array, now: number): Promise<boolean>
  /**
   * Removes the link, sets the password of its account and ends its sessions. Returns null if no live link has the hash,
   * or if the account is disabled.
   */
  usePasswordLink(hash: Uint8Array, passwordHash: string, now: number): Promise<Account | null>

  /**
   * Hides the account permanently and frees its email. Returns `last_owner` if the account is the only enabled owner.
   */
  markDeleted(id: string, now: number): Promise<'marked' | 'no_account' | 'last_owner'>
  /** Returns accounts that are marked as deleted and not yet removed. */
  deleted(limit: number): Promise<string[]>
  /** Removes up to `limit` keys and `limit` sessions of a deleted account. Returns whether more may be left. */
  purge(id: string, limit: number): Promise<boolean>
  /**
   * Removes the row of a deleted account, unless the account still has a key, session or record. Returns whether the
   * row was removed.
   */
  forget(id: string): Promise<boolean>
}
