/** Bytes that the gateway has sent below one root, under one domain. */
export interface SentBytes {
  /** A hold of the root. It leads to the records that made the content readable. */
  holdId: string
  domain: string
  bytes: number
}

/** Bytes that the gateway has sent for an account in one month, under one domain. */
export interface EgressRow {
  accountId: string
  domain: string
  bytes: number
}

/** The account that the traffic of a root counts for, with its bytes of the month. */
export interface EgressOwner {
  accountId: string
  plan: string
  bytes: number
}

/** Number of records of a root that are compared to find the oldest. */
export const OWNERS_COMPARED = 16

/** The store of gateway traffic by account, month and domain. A month is a number: 202611 for November 2026. */
export interface EgressStore {
  /**
   * Adds bytes to the accounts of the roots: for each root, the account of its oldest live record. A root with more
   * than {@link OWNERS_COMPARED} live records compares those that expire last. Returns what was added. The bytes
   * of a root without a live record are not.
   */
  add(sent: readonly SentBytes[], at: { now: number; month: number }): Promise<EgressRow[]>
  /** Returns the account to which {@link add} would add the bytes of a hold's root. Null without a live record. */
  ownerOf(holdId: string, at: { now: number; month: number }): Promise<EgressOwner | null>
  /** Returns the bytes of a month of the last twelve, sorted by account and domain. */
  read(accountIds: readonly string[], month: number): Promise<EgressRow[]>
}
