import type { Account } from './account-store.ts'
import type { Page, PageRequest } from './page.ts'

/** A session of a user who has signed in. Times are milliseconds since the epoch. */
export interface Session {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
  /**
   * When the user last proved to be there, by the sign-in or later. Null for a session that the console does not keep.
   */
  provedAt: number | null
}

/** Maximum number of sessions per account. A further sign-in ends the oldest session. */
export const MOST_SESSIONS = 1_000

/** The store of sessions. Each method is one transaction, durable when its promise resolves. */
export interface SessionStore {
  /**
   * Inserts a session. An empty `passwordHash` stands for a sign-in that checked no password. Removes some expired
   * sessions, and the oldest sessions of the account beyond {@link MOST_SESSIONS}.
   *
   * @returns the account; `stale` if the account no longer exists or its password hash is not `passwordHash`
   */
  begin(session: Session, check: { now: number; passwordHash: string }): Promise<Account | 'stale' | 'disabled'>
  /** Returns a session, even if it has expired. */
  get(id: string): Promise<Session | null>
  /** Lists the sessions that are valid at `now`, oldest first. */
  list(accountId: string, now: number, request: PageRequest): Promise<Page<Session>>
  /** Stores the time of a proof. Does nothing for a session that is not kept. */
  prove(id: string, at: number): Promise<void>
  /** Returns whether the session existed. */
  end(id: string): Promise<boolean>
  /** Ends all sessions of an account except `keep`. */
  endAll(accountId: string, keep: string | null): Promise<number>
}
