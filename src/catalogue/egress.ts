/** Bytes that the gateway has sent under one domain, with the account that pays, or with a hold of the read root. */
export type SentBytes = { domain: string; bytes: number } & ({ accountId: string } | { holdId: string })

/** Bytes that the gateway has sent for an account in one month, under one domain. */
export interface EgressRow {
  accountId: string
  domain: string
  bytes: number
}

/** An account that may pay for content, with its bytes of the month. */
export interface EgressPayer {
  accountId: string
  plan: string
  bytes: number
}

/** Maximum number of roots that hold a block and whose accounts may pay for it. */
export const PAYING_ROOTS = 16
/** Maximum number of accounts that may pay for content. */
export const MOST_PAYERS = 64

/** The store of gateway traffic by account, month and domain. A month is a number: 202611 for November 2026. */
export interface EgressStore {
  /**
   * Adds bytes to the accounts that pay. For a hold, the first account of {@link payersOf} pays. Returns the
   * added bytes by account. Drops bytes of a hold without a live record, and of a deleted account.
   */
  add(sent: readonly SentBytes[], at: { now: number; month: number }): Promise<EgressRow[]>
  /**
   * Returns the accounts that have a live record of the roots of these holds, at most {@link MOST_PAYERS}. The account
   * whose oldest live record is oldest comes first.
   */
  payersOf(holdIds: readonly string[], at: { now: number; month: number }): Promise<EgressPayer[]>
  /** Returns the bytes of a month of the last twelve, sorted by account and domain. */
  read(accountIds: readonly string[], month: number): Promise<EgressRow[]>
}
