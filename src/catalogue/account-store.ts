import type { Page, PageRequest } from './page.ts'

/** Somebody whose content is kept. */
export interface Account {
  id: string
  email: string
  /** Display name; null if none was given. */
  name: string | null
  /** Name of a plan. Where it is no longer configured, the account is held to `free`. */
  plan: string
  /** The owner runs the node. */
  role: 'owner' | 'user'
  /** The cluster of requests that name none; null for the engine's default. */
  defaultCluster: string | null
  /** Keeps its content; its keys and sessions are refused. */
  disabled: boolean
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** What may be changed of an account; what is left out stays. */
export type AccountChanges = Partial<Pick<Account, 'email' | 'name' | 'plan' | 'defaultCluster' | 'disabled'>>

/**
 * Where accounts are kept. Each method is one transaction, durable when its promise resolves. An account that has been
 * marked deleted is there for {@link deleted}, {@link purge} and {@link forget} alone.
 */
export interface AccountStore {
  /** Upper and lower case of emails are the same. */
  insert(account: Account, passwordHash: string | null): Promise<'inserted' | 'email_taken'>
  get(id: string): Promise<Account | null>
  findByEmail(email: string): Promise<Account | null>
  /** The first owner there is. */
  findOwner(): Promise<Account | null>
  /** Oldest first. */
  list(request: PageRequest): Promise<Page<Account>>
  /** `limit` rows of that list from the one at `offset` on, and how many it has. */
  slice(offset: number, limit: number): Promise<{ rows: Account[]; total: number }>
  /** The account after the change. `last_owner`: it is the only owner that is not disabled, and was to be. */
  change(id: string, changes: AccountChanges): Promise<Account | 'no_account' | 'email_taken' | 'last_owner'>

  /** Null without a password, and without an account. */
  passwordHash(id: string): Promise<string | null>
  /** Also ends the account's sessions but the one with the id `keepSession`. False if there is no such account. */
  setPassword(id: string, hash: string, keepSession: string | null): Promise<boolean>
  /** Only while it is still `former`. Returns whether it was. */
  replacePassword(id: string, former: string, hash: string): Promise<boolean>

  /** Hides the account from everything else for ever, and frees its email. */
  markDeleted(id: string, now: number): Promise<'marked' | 'no_account' | 'last_owner'>
  /** Ids of some accounts that are marked and not forgotten, at most `limit`. */
  deleted(limit: number): Promise<string[]>
  /** Removes up to `limit` keys and as many sessions of an account that is marked. Returns whether any may be left. */
  purge(id: string, limit: number): Promise<boolean>
  /** Removes what {@link markDeleted} has left, once no key, session or record is left. Returns whether it is gone. */
  forget(id: string): Promise<boolean>
}
