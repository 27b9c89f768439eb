import {
  type EgressPayer,
  type EgressRow,
  type EgressStore,
  MOST_PAYERS,
  PAYING_ROOTS,
  type SentBytes,
} from '../egress.ts'
import { AMONG_IDS, either } from './dialect.ts'
import { all, type CatalogueDriver, type Rule, run } from './driver.ts'
import { columns, sql } from './statement.ts'

const egressRow = columns<EgressRow>({ accountId: 'text', domain: 'text', bytes: 'integer' })

/** Difference between the numbers of a month and of the same month a year earlier. */
const YEAR = 100

interface RootOwner {
  accountId: string
  /** Null without a live record. */
  createdAt: number | null
}

/** Accounts of one root that are compared by age, in the order of their ids. */
const OWNERS_OF_ROOT = 256

/** The root of a copy has no records. The roots of the same content and owner on other nodes have them. */
const ROOTS_OF_COPIES = either(
  '',
  ['r.owner = 0 AND c.owner = 0', 'r.owner <> 0 AND r.owner = c.owner']
    .map(
      isOf => `
    UNION SELECT r.id FROM copies c JOIN roots r ON r.multihash = c.multihash AND r.codec = c.codec AND ${isOf}
    WHERE c.hold_id = ANY(:ids)`,
    )
    .join(''),
)

/**
 * Finds the distinct accounts of each root in steps, with one index lookup for each account. The number of records that
 * an account has of a root does not matter. `root_id > 0` is the condition of the index in PostgreSQL.
 */
const OWNERS = sql<RootOwner>`
  WITH RECURSIVE held (root_id) AS (
    SELECT DISTINCT root_id FROM holds WHERE id ${AMONG_IDS} AND root_id IS NOT NULL${ROOTS_OF_COPIES}
  ), owners (root_id, account_id, place) AS (
    SELECT root_id, (
      SELECT MIN(r.account_id) FROM records r WHERE r.root_id = held.root_id AND r.root_id > 0
    ), 1 FROM held
    UNION ALL
    SELECT root_id, (
      SELECT MIN(r.account_id) FROM records r WHERE r.root_id = owners.root_id AND r.root_id > 0 AND r.account_id > owners.account_id
    ), place + 1
    FROM owners WHERE account_id IS NOT NULL AND place < ${String(OWNERS_OF_ROOT)}
  )
  SELECT account_id AS "accountId", (
    SELECT MIN(r.created_at) FROM records r
    WHERE r.root_id = owners.root_id AND r.root_id > 0 AND r.account_id = owners.account_id
      AND (r.expires_at IS NULL OR r.expires_at > :now)
  ) AS "createdAt"
  FROM owners WHERE account_id IS NOT NULL`
const STANDING = sql<EgressPayer>`
  SELECT a.id AS "accountId", a.plan AS plan, CAST((
    SELECT COALESCE(SUM(bytes), 0) FROM egress WHERE account_id = a.id AND month = :month
  ) AS BIGINT) AS bytes
  FROM accounts a WHERE a.id ${AMONG_IDS}`
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
    payersOf: (holdIds, at) => driver.read(payers(holdIds, at)),
    read: (ids, month) => driver.all(READ, { ids, month }),
  }
}

function* add(sent: readonly SentBytes[], now: number, month: number): Rule<EgressRow[]> {
  const owners = new Map<string, string>()
  for (const holdId of new Set(sent.flatMap(one => ('holdId' in one ? one.holdId : [])))) {
    const [accountId] = yield* oldestOwners([holdId], now)
    if (accountId !== undefined) owners.set(holdId, accountId)
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

function* payers(holdIds: readonly string[], { now, month }: { now: number; month: number }): Rule<EgressPayer[]> {
  const owners = yield* oldestOwners(holdIds.slice(0, PAYING_ROOTS), now)
  const standings = yield* all(STANDING, { ids: owners, month })
  const found = new Map(standings.map(payer => [payer.accountId, payer]))
  return owners.flatMap(accountId => found.get(accountId) ?? [])
}

/** Returns the accounts that have a live record of these roots, those with the oldest first. */
function* oldestOwners(ids: readonly string[], now: number): Rule<string[]> {
  const oldest = new Map<string, number>()
  for (const { accountId, createdAt } of yield* all(OWNERS, { ids, now })) {
    if (createdAt !== null) oldest.set(accountId, Math.min(createdAt, oldest.get(accountId) ?? createdAt))
  }
  const inOrder = [...oldest].toSorted(([a, first], [b, other]) => first - other || (a < b ? -1 : 1))
  return inOrder.slice(0, MOST_PAYERS).map(([accountId]) => accountId)
}

/** Returns sums in a fixed order, so that two nodes lock the rows in the same order. */
function rowsOf(sent: readonly SentBytes[], owners: ReadonlyMap<string, string>): EgressRow[] {
  const rows = new Map<string, EgressRow>()
  for (const one of sent) {
    const { domain, bytes } = one
    const accountId = 'accountId' in one ? one.accountId : owners.get(one.holdId)
    if (accountId === undefined) continue
    const key = `${accountId} ${domain}`
    rows.set(key, { accountId, domain, bytes: bytes + (rows.get(key)?.bytes ?? 0) })
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
