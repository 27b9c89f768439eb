import type { Account } from './account-store.ts'
import type { Page, PageRequest } from './page.ts'

/** Somebody signed in. Times are milliseconds since the epoch. */
export interface Session {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
}

/** How many sessions an account has at most: whoever signs in once more ends the oldest. */
export const MOST_SESSIONS = 1_000

/** Where sessions are kept that have not been ended. Each method is one transaction, durable when its promise resolves. */
export interface SessionStore {
  /**
   * Inserts a session, removes some that have expired by `now`, and those beyond {@link MOST_SESSIONS}. Returns the account as it is then; `stale` if that is
   * not there any more or its password is no longer the one with `passwordHash`, and `disabled` if the account is.
   */
  begin(session: Session, check: { now: number; passwordHash: string }): Promise<Account | 'stale' | 'disabled'>
  /** Expired or not. */
  get(id: string): Promise<Session | null>
  /** Those of an account that live past `now`, oldest first. */
  list(accountId: string, now: number, request: PageRequest): Promise<Page<Session>>
  /** Returns whether there was one. */
  end(id: string): Promise<boolean>
  /** Ends those of an account but the one with the id `keep`. Returns how many. */
  endAll(accountId: string, keep: string | null): Promise<number>
}
