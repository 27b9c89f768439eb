/**
 * Times in which a node deletes no content, because of a backup or a set-back of the database. Meanwhile the catalogue
 * counts the *released bytes* of each account on the node: the quota bytes of content that the account no longer names.
 * Content that is removed, uploaded and removed again counts twice. So the account may be refused early, by at most its
 * quota: each of these uploads must fit into the rest. No other account is.
 */
export interface DeletionStops {
  /** Begins a stop of this node, and forgets the released bytes of earlier ones. A set-back needs no call. */
  begin(): Promise<void>
  /** Ends a stop of this node. Forgets the released bytes, unless a set-back still stops deletion. */
  end(): Promise<void>
  /** Returns the kept bytes of an account, and its released bytes on this node. */
  undeletedBytes(accountId: string): Promise<number>
}
