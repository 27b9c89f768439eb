import type { Account } from './account-store.ts'
import type { Page, PageRequest } from './page.ts'

/** A signed-in session. Times are milliseconds since the epoch. */
export interface Session {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
}

/** Maximum number of sessions per account. A further sign-in ends the oldest session. */
export const MOST_SESSIONS = 1_000

/**
 * The store of sessions that have not been ended. Each method is one transaction, durable when its promise resolves.
 */
export interface SessionStore {
  /**
   * Inserts a session, and removes some expired sessions and the account's surplus beyond {@link MOST_SESSIONS}.
   *
   * @returns the account; `stale` if it is gone or its password hash is no longer `passwordHash`; `disabled` if it is
   * disabled
   */
  begin(session: Session, check: { now: number; passwordHash: string }): Promise<Account | 'stale' | 'disabled'>
  /** Returns a session, even if it has expired. */
  get(id: string): Promise<Session | null>
  /** Lists the sessions of an account that are valid at `now`, oldest first. */
  list(accountId: string, now: number, request: PageRequest): Promise<Page<Session>>
  /** Ends a session. Returns whether it existed. */
  end(id: string): Promise<boolean>
  /** Ends the sessions of an account except `keep`. Returns how many it ended. */
  endAll(accountId: string, keep: string | null): Promise<number>
}
