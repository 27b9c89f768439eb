import type { Account, IdentityKey } from './account-store.ts'

/** A sealed refresh token, which the store cannot read, and when a node should use it. */
export interface StoredRefresh {
  token: Uint8Array
  at: number
}

/** An identity whose refresh is due. `token` also tells whether somebody has replaced the token meanwhile. */
export interface DueIdentity extends IdentityKey {
  token: Uint8Array
}

/** Accounts of users who sign in with a provider. An account has at most one identity. */
export interface IdentityStore {
  /**
   * Confirms an identity. Its account gets the plan of `fresh`, until {@link lapse}. If no account has the identity,
   * inserts `fresh` with it, and never looks for an account with the same email. Concurrent calls agree on one account.
   * Returns `email_taken` if another account uses the email of `fresh`.
   * @param refresh replaces the stored token; null keeps it, because some providers give a token only once
   */
  confirm(
    identity: IdentityKey,
    fresh: Account,
    now: number,
    refresh: StoredRefresh | null,
  ): Promise<Account | 'email_taken'>
  /** Returns the id of the account that has an identity, or null. */
  accountOf(identity: IdentityKey): Promise<string | null>
  /**
   * Returns up to `limit` identities whose refresh is due, and makes each due again at `until`. No two callers get the
   * same identity before then.
   */
  takeDue(now: number, until: number, limit: number): Promise<DueIdentity[]>
  /** Confirms an identity after a refresh, unless its token was replaced. Returns whether it was confirmed. */
  refreshed(due: DueIdentity, plan: string, now: number, refresh: StoredRefresh): Promise<boolean>
  /**
   * Gives `plan` to the account of an identity, forgets the token, and ends the sessions that last at most `life` ms.
   * Returns false, and changes nothing, if the token was replaced.
   */
  revoke(due: DueIdentity, plan: string, life: number): Promise<boolean>
  /**
   * Gives `plan` to up to `limit` accounts whose identity was last confirmed before `before`, oldest first. Returns
   * their number.
   */
  lapse(before: number, plan: string, limit: number): Promise<number>
}
