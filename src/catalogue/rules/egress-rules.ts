import { type EgressOwner, type EgressRow, type EgressStore, OWNERS_COMPARED, type SentBytes } from '../egress.ts'
import { AMONG_IDS, either } from './dialect.ts'
import { all, type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { columns, sql } from './statement.ts'

const egressRow = columns<EgressRow>({ accountId: 'text', domain: 'text', bytes: 'integer' })

/** Difference between the numbers of a month and of the same month a year earlier. */
const YEAR = 100

interface RecordOwner {
  accountId: string
  createdAt: number
  id: string
}

const ROOT = '(SELECT root_id FROM holds WHERE id = :holdId)'
/** Both databases read the records of a root backwards in an index, from those that never expire. */
const OWNERS = sql<RecordOwner>`
  SELECT r.account_id AS "accountId", r.created_at AS "createdAt", r.id AS id
  ${either(
    `FROM holds h CROSS JOIN records r ON r.id = h.id WHERE h.root_id = ${ROOT} AND h.ends > :now ORDER BY h.ends DESC`,
    `FROM records r WHERE r.root_id = ${ROOT} AND (r.expires_at IS NULL OR r.expires_at > :now)
     ORDER BY r.expires_at DESC NULLS FIRST`,
  )}
  LIMIT ${String(OWNERS_COMPARED)}`
const STANDING = sql<EgressOwner>`
  SELECT a.id AS "accountId", a.plan AS plan, CAST((
    SELECT COALESCE(SUM(bytes), 0) FROM egress WHERE account_id = a.id AND month = :month
  ) AS BIGINT) AS bytes
  FROM accounts a WHERE a.id = :accountId`
const ADD = sql`
  INSERT INTO egress (account_id, month, domain, bytes)
  SELECT id, :month, :domain, :bytes FROM accounts WHERE id = :accountId
  ON CONFLICT (account_id, month, domain) DO UPDATE SET bytes = egress.bytes + excluded.bytes`
const FORGET = sql`DELETE FROM egress WHERE account_id = :accountId AND month <= :last`
const READ = sql`
  SELECT ${egressRow} FROM egress WHERE account_id ${AMONG_IDS} AND month = :month ORDER BY account_id, domain`

export function egressRules(driver: CatalogueDriver): EgressStore {
  return {
    // A crash may lose the last seconds anyway, and other writes must not wait.
    add: (sent, { now, month }) => driver.transaction(() => add(sent, now, month), { durable: false, patient: true }),
    ownerOf: (holdId, at) => driver.read(standing(holdId, at)),
    read: (ids, month) => driver.all(READ, { ids, month }),
  }
}

function* add(sent: readonly SentBytes[], now: number, month: number): Rule<EgressRow[]> {
  const owners = new Map<string, string>()
  for (const holdId of new Set(sent.map(one => one.holdId))) {
    const accountId = yield* oldest(holdId, now)
    if (accountId !== null) owners.set(holdId, accountId)
  }
  const added: EgressRow[] = []
  const rows = rowsOf(sent, owners)
  for (const row of rows) {
    if ((yield* run(ADD, { ...row, month })) > 0) added.push(row)
  }
  for (const accountId of new Set(rows.map(row => row.accountId))) {
    yield* run(FORGET, { accountId, last: month - YEAR })
  }
  return added
}

function* standing(holdId: string, { now, month }: { now: number; month: number }): Rule<EgressOwner | null> {
  const accountId = yield* oldest(holdId, now)
  return accountId === null ? null : yield* first(STANDING, { accountId, month })
}

/** Returns the account of the oldest live record among {@link OWNERS_COMPARED}. */
function* oldest(holdId: string, now: number): Rule<string | null> {
  const [record] = (yield* all(OWNERS, { holdId, now })).toSorted(byAge)
  return record?.accountId ?? null
}

/** Returns sums in a fixed order, so that two nodes lock the rows in the same order. */
function rowsOf(sent: readonly SentBytes[], owners: ReadonlyMap<string, string>): EgressRow[] {
  const rows = new Map<string, EgressRow>()
  for (const { holdId, domain, bytes } of sent) {
    const accountId = owners.get(holdId)
    if (accountId === undefined) continue
    const key = `${accountId} ${domain}`
    rows.set(key, { accountId, domain, bytes: bytes + (rows.get(key)?.bytes ?? 0) })
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function byAge(a: RecordOwner, b: RecordOwner): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
}
