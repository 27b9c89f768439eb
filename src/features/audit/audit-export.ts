import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { iso } from '../../domain/iso-instant.ts'
import type { AuditLog } from './audit-log.ts'
import type { AuditFilter, AuditRow } from './audit-store.ts'

/** Services that only this route uses. */
export interface AuditServices {
  audit: Pick<AuditLog, 'list'>
}

const ROWS_AT_ONCE = 500
/** A spreadsheet runs a cell that begins with one of these as a formula. The last four are their wide forms. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const LINE_END = '\r\n'

export type ShownEntry = ReturnType<typeof presentEntry>

export function presentEntry({ id, createdAt, lastAt, accountId, ...row }: AuditRow) {
  const { actor, email, credential, credentialId, address, action, outcome, subject, times } = row
  const when = { id: String(id), at: iso(createdAt), lastAt: iso(lastAt), times }
  return { ...when, actor, account: accountId, email, credential, credentialId, address, action, outcome, subject }
}

/** Yields all entries that match, newest first. Entries that are added meanwhile are not included. */
export async function* exportLines(
  audit: AuditServices['audit'],
  filter: AuditFilter,
  { head, line }: (typeof EXPORTS)[keyof typeof EXPORTS],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  if (head !== '') yield Buffer.from(head)
  for (let after: string | null | undefined; after !== null; ) {
    if (turnSpent()) await nextTurn(signal)
    const page = await audit.list(filter, { after: after ?? null, limit: ROWS_AT_ONCE })
    if (page.rows.length > 0) yield Buffer.from(page.rows.map(row => line(presentEntry(row))).join(''))
    after = page.next
  }
}

const COLUMNS = [
  ...(['id', 'at', 'lastAt', 'times', 'actor', 'account', 'email', 'credential', 'credentialId'] as const),
  ...(['address', 'action', 'outcome', 'subject'] as const),
] satisfies Array<keyof ShownEntry>

export const EXPORTS = {
  jsonl: { media: 'application/x-ndjson', extension: 'jsonl', head: '', line: jsonLine },
  csv: {
    media: 'text/csv; charset=utf-8',
    extension: 'csv',
    head: COLUMNS.join(',') + LINE_END,
    line: csvLine,
  },
} as const

function jsonLine(entry: ShownEntry): string {
  return `${JSON.stringify(entry)}\n`
}

function csvLine(entry: ShownEntry): string {
  return COLUMNS.map(column => csvCell(String(entry[column] ?? ''))).join(',') + LINE_END
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
