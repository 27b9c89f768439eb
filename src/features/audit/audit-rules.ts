import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { RuleHost } from '../../catalogue/rules/access-stores.ts'
import { LIVE_ACCOUNT } from '../../catalogue/rules/account-rows.ts'
import { deleteSome, IF_UNLOCKED } from '../../catalogue/rules/dialect.ts'
import { type CatalogueDriver, type Rule, run } from '../../catalogue/rules/driver.ts'
import { pageOf, placeAfter, type RowPlace } from '../../catalogue/rules/row-cursor.ts'
import { columns, fragment, type RuleStatement, sql } from '../../catalogue/rules/statement.ts'
import {
  AUDIT_ACTORS,
  AUDIT_VISITED,
  type AuditFilter,
  type AuditRetention,
  type AuditRow,
  type AuditStore,
  type NewAuditEntry,
} from './audit-store.ts'

/** More than one call adds, so that deletions keep up with additions. */
const FORGOTTEN_AT_ONCE = 200

const row = columns<AuditRow & RowPlace>({
  id: 'integer',
  rowid: ['integer', 'id'],
  createdAt: 'integer',
  lastAt: 'integer',
  times: 'integer',
  actor: 'text',
  accountId: 'text',
  email: ['text', `(SELECT email FROM accounts WHERE accounts.id = audit.account_id AND ${LIVE_ACCOUNT})`],
  credential: 'text',
  credentialId: 'text',
  address: 'text',
  action: 'text',
  outcome: 'text',
  subject: 'text',
})

const PUT = sql`
  INSERT INTO audit (key, number, created_at, last_at, times, actor, account_id, credential, credential_id, address,
    action, outcome, subject)
  VALUES (:key, (SELECT COALESCE(MAX(number), 0) + 1 FROM audit WHERE actor = :actor), :createdAt, :lastAt, :times,
    :actor, :accountId, :credential, :credentialId, :address, :action, :outcome, :subject)
  ON CONFLICT (key) DO UPDATE SET times = audit.times + :more, last_at = excluded.last_at`
const FORGET_OLD = deleteSome(
  'audit',
  fragment`WHERE created_at < :oldest ORDER BY created_at LIMIT :most ${IF_UNLOCKED}`,
)
const FORGET_SURPLUS = deleteSome(
  'audit',
  fragment`WHERE actor = :actor AND number <= (SELECT MAX(number) FROM audit WHERE actor = :actor) - :mostEntries
    ORDER BY number LIMIT :most ${IF_UNLOCKED}`,
)

const PLACE = '(created_at, id) < (:createdAt, :rowid) AND created_at >= :from'
const ORDER = 'ORDER BY created_at DESC, id DESC LIMIT :rows'
const ALL = sql`SELECT ${row} FROM audit WHERE ${PLACE} ${ORDER}`
const BY_ACCOUNT = sql`SELECT ${row} FROM audit WHERE account_id = :accountId AND ${PLACE} ${ORDER}`
const BY_ACTION = sql`SELECT ${row} FROM audit WHERE action = :action AND ${PLACE} ${ORDER}`
const BY_OUTCOME = sql`SELECT ${row} FROM audit WHERE outcome = :outcome AND ${PLACE} ${ORDER}`

export function auditRules({ driver }: RuleHost): AuditStore {
  return {
    add: (entries, retention, isDurable) =>
      driver.transaction(() => add(entries, retention), { durable: isDurable, patient: !isDurable }),
    list: (filter, request) => list(driver, filter, request),
  }
}

function* add(entries: readonly NewAuditEntry[], { oldest, mostEntries }: AuditRetention): Rule<void> {
  // In a fixed order, so that two nodes lock the entries in the same order.
  for (const entry of entries.toSorted((a, b) => (a.key < b.key ? -1 : 1))) yield* run(PUT, entry)
  const most = FORGOTTEN_AT_ONCE
  yield* run(FORGET_OLD, { oldest, most })
  for (const actor of AUDIT_ACTORS) yield* run(FORGET_SURPLUS, { actor, mostEntries, most })
}

async function list(
  driver: CatalogueDriver,
  filter: AuditFilter,
  { after, limit }: PageRequest,
): Promise<Page<AuditRow>> {
  const { accountId, action, outcome, from, until } = filter
  const [statement, others] = indexFor(filter)
  const most = others.length === 0 ? limit : Math.max(limit, AUDIT_VISITED)
  const place = placeBefore(after, until)
  const visited = await driver.all(statement, { accountId, action, outcome, from, ...place, rows: most + 1 })
  const within = visited.slice(0, most)
  const found = within.filter(entry => others.every(field => entry[field] === filter[field]))
  const page = pageOf(found, limit)
  const isMore = page.next !== null || visited.length <= most
  return isMore ? page : { ...page, next: pageOf(visited, most).next }
}

/** Returns the statement for the most selective filter, and the filters that it leaves to its caller. */
function indexFor(
  filter: AuditFilter,
): [RuleStatement<AuditRow & RowPlace>, Array<'accountId' | 'action' | 'outcome'>] {
  const given = (['accountId', 'action', 'outcome'] as const).filter(field => filter[field] !== undefined)
  const [first] = given
  if (first === undefined) return [ALL, []]
  const statements = { accountId: BY_ACCOUNT, action: BY_ACTION, outcome: BY_OUTCOME }
  return [statements[first], given.slice(1)]
}

/** Returns the sort key before which a page begins. */
function placeBefore(cursor: string | null, until: number): RowPlace {
  const place = placeAfter(cursor)
  const isGiven = place.rowid >= 0 && place.createdAt < until
  return isGiven ? place : { createdAt: until, rowid: Number.MIN_SAFE_INTEGER }
}
