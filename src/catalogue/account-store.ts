import type { Page, PageRequest } from './page.ts'

/** An account: a person or a program whose content is kept. */
export interface Account {
  id: string
  email: string
  /** Display name; null if none was given. */
  name: string | null
  /** Name of a plan. If the configuration no longer has it, the limits of `free` apply. */
  plan: string
  /** The owner runs the node. */
  role: 'owner' | 'user'
  /** The cluster for requests that name none; null for the engine's default. */
  defaultCluster: string | null
  /** If true, all keys and sessions are refused. The content stays. */
  disabled: boolean
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** Changes to an account. An absent field keeps its value. */
export type AccountChanges = Partial<Pick<Account, 'email' | 'name' | 'plan' | 'defaultCluster' | 'disabled'>>

/**
 * The store of accounts. Each method is one transaction, durable when its promise resolves. Only {@link deleted},
 * {@link purge} and {@link forget} see an account that is marked as deleted.
 */
export interface AccountStore {
  /** Inserts an account. Emails are compared without case. */
  insert(account: Account, passwordHash: string | null): Promise<'inserted' | 'email_taken'>
  get(id: string): Promise<Account | null>
  findByEmail(email: string): Promise<Account | null>
  /** Returns the oldest owner. */
  findOwner(): Promise<Account | null>
  /** Lists accounts, oldest first. */
  list(request: PageRequest): Promise<Page<Account>>
  /** Returns `limit` accounts from `offset` on, oldest first, and the total number. */
  slice(offset: number, limit: number): Promise<{ rows: Account[]; total: number }>
  /** Returns the changed account. `last_owner`: the change would disable the only enabled owner. */
  change(id: string, changes: AccountChanges): Promise<Account | 'no_account' | 'email_taken' | 'last_owner'>

  /** Returns null if the account does not exist or has no password. */
  passwordHash(id: string): Promise<string | null>
  /**
   * Sets the password, and ends all sessions of the account except `keepSession`. Returns false if the account does not
   * exist.
   */
  setPassword(id: string, hash: string, keepSession: string | null): Promise<boolean>
  /** Replaces the password hash only if it is still `former`. Returns whether it was. */
  replacePassword(id: string, former: string, hash: string): Promise<boolean>

  /** Marks the account as deleted: hides it permanently and frees its email. */
  markDeleted(id: string, now: number): Promise<'marked' | 'no_account' | 'last_owner'>
  /** Returns the ids of up to `limit` accounts that are marked as deleted and not yet removed. */
  deleted(limit: number): Promise<string[]>
  /**
   * Removes up to `limit` keys and as many sessions of an account marked as deleted. Returns whether more may be left.
   */
  purge(id: string, limit: number): Promise<boolean>
  /** Removes the row of an account marked as deleted, once it has no key, session or record. Returns whether it did. */
  forget(id: string): Promise<boolean>
}
