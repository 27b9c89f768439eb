/** One action in the audit log, or several equal ones of one hour. */
export interface AuditEntry {
  id: string
  /** Time of the first action. */
  at: string
  lastAt: string
  /** Number of actions. */
  times: number
  /** A stranger's credentials were refused. */
  actor: 'owner' | 'account' | 'stranger'
  /** The account that acted, or that a failed sign-in named. */
  account: string | null
  /** Null if the account is unknown or deleted. */
  email: string | null
  credential: 'key' | 'session' | null
  credentialId: string | null
  address: string | null
  /** Such as `key.create`. */
  action: string
  /** `ok`, or the code of the error. */
  outcome: string
  /** Id, CID or name of the changed thing. Null if the action failed. */
  subject: string | null
}

/** Filters of the audit log. */
export interface AuditFilter {
  /** Id or email of an account. */
  account?: string | undefined
  action?: string | undefined
  outcome?: string | undefined
  from?: Date | undefined
  until?: Date | undefined
}

/** Returns the query of a filter. */
export function auditQuery({ from, until, ...filter }: AuditFilter): Record<string, string | undefined> {
  return { ...filter, from: from?.toISOString(), until: until?.toISOString() }
}
