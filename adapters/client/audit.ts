import type { Static } from 'typebox'
import type * as audit from '../../src/features/audit/audit-routes.ts'
import { isoTime } from './times.ts'

/** One action in the audit log, or several equal ones of one hour. */
export type AuditEntry = Static<typeof audit.EntryView>

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
  return { ...filter, from: isoTime(from, 'from'), until: isoTime(until, 'until') }
}
