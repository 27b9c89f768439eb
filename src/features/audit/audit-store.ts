import type { Page, PageRequest } from '../../catalogue/page.ts'

/**
 * Kinds of actors: an owner, another account, or a stranger, whose credentials were refused. The retention counts the
 * entries of each kind apart, so that strangers and accounts cannot evict the entries of owners.
 */
export const AUDIT_ACTORS = ['owner', 'account', 'stranger'] as const
/** Kind of an actor. */
export type AuditActor = (typeof AUDIT_ACTORS)[number]

/** One entry of the audit log, or several equal actions of one hour. Contains no secrets. */
export interface AuditEntry {
  /** Time of the first action, in ms since the epoch. */
  createdAt: number
  /** Time of the last action. */
  lastAt: number
  /** Number of actions. */
  times: number
  actor: AuditActor
  /** The account that acted. For a failed sign-in, the account that the stranger named. Null if unknown. */
  accountId: string | null
  /** Null for a stranger. */
  credential: 'key' | 'session' | null
  credentialId: string | null
  /** Address of the client, or the /64 network of a stranger's IPv6 address. Null if unknown, or of several clients. */
  address: string | null
  action: string
  /** `ok`, or the code of the error. */
  outcome: string
  /** Id, CID or name of what the action changed. Null after a failure, because the text is then the client's. */
  subject: string | null
}

/** An entry to add. */
export interface NewAuditEntry extends AuditEntry {
  /** Unique. Entries with the same key become one entry. */
  key: string
  /** Number by which `times` of a stored entry with this key grows: 0 for an entry that must not count twice. */
  more: number
}

/** An entry, with the current email of its account. */
export interface AuditRow extends AuditEntry {
  id: number
  /** Null if the account is unknown or deleted. */
  email: string | null
}

/** Undefined means any. */
export interface AuditFilter {
  accountId?: string | undefined
  action?: string | undefined
  outcome?: string | undefined
  /** Entries whose `createdAt` is at least this. */
  from: number
  /** Entries whose `createdAt` is less than this. */
  until: number
}

/** The entries to keep. */
export interface AuditRetention {
  /** Entries created before this time are deleted, some with each call. */
  oldest: number
  /** Number of newest entries of each kind of actor to keep. Older ones are deleted, some with each call. */
  mostEntries: number
}

/** Number of entries of one index that a page with several filters visits. */
export const AUDIT_VISITED = 1_000

/** The audit log. */
export interface AuditStore {
  /**
   * Adds entries, and deletes some of the entries beyond the retention.
   *
   * @param isDurable false if the entries may be lost in a crash of the process
   */
  add(entries: readonly NewAuditEntry[], retention: AuditRetention, isDurable: boolean): Promise<void>
  /**
   * Returns entries, newest first. With several filters, a page visits at most {@link AUDIT_VISITED} entries. It may
   * then have fewer rows than the limit, or none, although another page follows.
   */
  list(filter: AuditFilter, request: PageRequest): Promise<Page<AuditRow>>
}
