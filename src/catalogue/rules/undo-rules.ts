import type { BulkChange, UndoEnd } from '../bulk-changes.ts'
import type { KeptTotals, UndoPeriods } from '../undo-periods.ts'
import { schedule } from './bulk-progress.ts'
import { type BulkParts, BY_ACCOUNT, change, LOCKED, STATES } from './bulk-rows.ts'
import { AMONG_IDS, either, indexed } from './dialect.ts'
import { all, type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { LOCK_ACCOUNTS } from './removal-rules.ts'
import { columns, fragment, sql } from './statement.ts'

/** Accounts that one step of a search for a period looks at, those that keep most first. */
const ACCOUNTS_AT_ONCE = 64
/** Removed records that one statement looks at. */
const RECORDS_AT_ONCE = 500

const KEPT = sql<{ bytes: number }>`SELECT kept_bytes AS bytes FROM accounts WHERE id = :accountId`
const TOTALS = sql<KeptTotals>`
  SELECT COUNT(*) AS accounts, ${either('COALESCE(SUM(kept_bytes), 0)', 'COALESCE(SUM(kept_bytes), 0)::bigint')} AS bytes
  FROM accounts ${indexed('accounts_keeping')} WHERE kept_bytes > 0`
/** Condition: the change is a removal with an undo period. */
const HAS_PERIOD = "action = 'delete' AND undo_ms > 0"
/** Condition: the undo period of the change has begun. An undo may be going on, so {@link end} decides. */
const CAN_END = `${HAS_PERIOD} AND phase <> 'running'`
const AFTER = '(kept_bytes < :bytes OR (kept_bytes = :bytes AND id > :account))'
const KEEPING = sql<{ id: string; bytes: number }>`
  SELECT id, kept_bytes AS bytes FROM accounts ${indexed('accounts_keeping')}
  WHERE kept_bytes > 0 AND kept_bytes > :above AND kept_bytes <= :bytes AND ${AFTER}
  ORDER BY kept_bytes DESC, id LIMIT :limit`
const ENDABLE = sql`
  SELECT ${change} FROM ${STATES} WHERE state.account_id ${AMONG_IDS} AND ${CAN_END}`
const ENDABLE_OF_ALL = sql<{ id: number }>`
  SELECT id FROM bulk_changes ${indexed('bulk_changes_undoable')} WHERE ${HAS_PERIOD} AND phase <> 'undoing'
  ORDER BY id LIMIT :limit`
const HAS_REMOVED = sql`
  SELECT 1 FROM removed_records ${indexed('removed_records_by_change')} WHERE change_id = :id LIMIT 1`
const END = sql`UPDATE bulk_changes SET undo_ms = 0, undo_ended = :why WHERE id = :id`

const AMONG_BACKENDS = either('IN (SELECT value FROM json_each(:backends))', '= ANY(:backends)')
/** Condition: the removed record keeps content whose root lies on one of the backends. */
const LIES_THERE = fragment`
  EXISTS (SELECT 1 FROM roots WHERE roots.id = gone.root_id AND roots.backend_id ${AMONG_BACKENDS})
  AND NOT EXISTS (SELECT 1 FROM records ${indexed('records_identical')} WHERE records.account_id = gone.account_id
    AND records.multihash = gone.multihash AND records.codec = gone.codec
    AND ${either('(records.root_id IS NULL) = 0', 'records.root_id IS NOT NULL')})`
const lying = columns<{ id: string; lies: boolean }>({ id: 'text', lies: ['flag', LIES_THERE] })
const LYING = sql`
  SELECT ${lying} FROM removed_records gone ${indexed('removed_records_by_change')}
  WHERE change_id = :id AND id > :after ORDER BY id LIMIT ${String(RECORDS_AT_ONCE)}`

export function isOver({ endedAt, undoMs }: BulkChange, now: number): boolean {
  return undoMs === 0 || (endedAt !== null && endedAt + undoMs <= now)
}

export function undoRules(driver: CatalogueDriver, parts: BulkParts): UndoPeriods {
  const ending = (id: number, why: UndoEnd) => driver.transaction(() => end(id, why), { patient: true })
  return {
    keptBytes: async accountId => (await driver.first(KEPT, { accountId }))?.bytes ?? 0,
    keptTotals: async () => (await driver.first(TOTALS)) ?? { accounts: 0, bytes: 0 },
    endExcess: request => driver.transaction(() => endExcess(request), { patient: true, lane: request.accountId }),
    endForRoom: async ({ backends }) => {
      const there = parts.backends(backends)
      const { accounts, bytes } = (await driver.first(TOTALS)) ?? { accounts: 0, bytes: 0 }
      for (const above of [Math.floor(bytes / Math.max(accounts, 1)), 0]) {
        for await (const { id } of endable(driver, above)) {
          if (!(await keepsAny(driver, id, there))) continue
          const ended = await ending(id, 'disk')
          if (ended !== null) return ended
        }
      }
      return null
    },
    endPeriods: async ({ accountId, why, limit }) => {
      const found =
        accountId === null
          ? await driver.all(ENDABLE_OF_ALL, { limit })
          : (await driver.all(BY_ACCOUNT, { accountId })).filter(({ undoMs }) => undoMs > 0)
      const ended: BulkChange[] = []
      for (const { id } of found.slice(0, limit)) {
        const change = await ending(id, why)
        if (change !== null) ended.push(change)
      }
      return ended
    },
  }
}

/** Yields the removals of the accounts that keep more than `above` bytes, some accounts at once, oldest first. */
async function* endable(driver: CatalogueDriver, above: number): AsyncIterable<BulkChange> {
  const place = { bytes: Number.MAX_SAFE_INTEGER, account: '' }
  for (;;) {
    const accounts = await driver.all(KEEPING, { ...place, above, limit: ACCOUNTS_AT_ONCE })
    const last = accounts.at(-1)
    if (last === undefined) return
    const found = await driver.all(ENDABLE, { ids: accounts.map(({ id }) => id) })
    yield* found.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.id - b.id)
    Object.assign(place, { bytes: last.bytes, account: last.id })
  }
}

/** Returns whether a removal keeps content of one of the backends. */
async function keepsAny(driver: CatalogueDriver, id: number, backends: readonly number[]): Promise<boolean> {
  for (let after: string | null = ''; after !== null; ) {
    const page: Array<{ id: string; lies: boolean }> = await driver.all(LYING, { id, after, backends })
    if (page.some(({ lies }) => lies)) return true
    after = page.length < RECORDS_AT_ONCE ? null : (page.at(-1)?.id ?? null)
  }
  return false
}

function* endExcess({
  accountId,
  most,
  now,
}: {
  accountId: string
  most: number
  now: number
}): Rule<BulkChange | null> {
  yield* first(LOCK_ACCOUNTS, { accounts: [accountId] })
  const kept = (yield* first(KEPT, { accountId }))?.bytes ?? 0
  if (kept <= most) return null
  const changes = (yield* all(BY_ACCOUNT, { accountId })).filter(({ action }) => action === 'delete')
  const newest = changes.find(({ undoMs }) => undoMs > 0)
  if (newest === undefined || kept <= newest.freedBytes) return null
  const keeping: BulkChange[] = []
  for (const one of changes) if ((yield* first(HAS_REMOVED, { id: one.id })) !== null) keeping.push(one)
  // The kept bytes fall when the records of an ended period are purged.
  if (keeping.some(one => isOver(one, now))) return null
  const oldest = keeping.findLast(({ id, phase }) => id !== newest.id && (phase === 'done' || phase === 'undone'))
  return oldest === undefined ? null : yield* end(oldest.id, 'quota')
}

/** Ends an undo period under the lock of its change. Returns null if there is none, or if an undo has begun. */
function* end(id: number, why: UndoEnd): Rule<BulkChange | null> {
  const locked = yield* first(LOCKED, { id })
  if (locked === null || locked.action !== 'delete' || locked.undoMs === 0) return null
  // The account of an undo that has begun is gone: the undo restores nothing.
  if (locked.phase === 'undoing' && why !== 'account') return null
  yield* run(END, { id, why })
  const ended: BulkChange = { ...locked, undoMs: 0, undoEnded: why }
  if (locked.phase === 'done' || locked.phase === 'undone') yield* schedule(ended, 0)
  return ended
}
