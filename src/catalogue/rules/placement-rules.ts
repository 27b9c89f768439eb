import { HoldfastError } from '../../domain/errors.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { StatusChange } from '../fetches.ts'
import { MOST_WAITING, NOBODY, type PlacementKey, type PlacementRow, type Placements } from '../placements.ts'
import { either, indexed, isSet, isUnset, LEDGER_BACKEND } from './dialect.ts'
import { type CatalogueDriver, first, own, type Rule, run } from './driver.ts'
import { beginJob, dueJobs, dueStates, endJob, enqueue, JOB, retryJob, wakeJob, withJob } from './job-rules.ts'
import { columns, fragment, sql } from './statement.ts'
import type { StatusRules } from './status-rules.ts'

const placement = columns<PlacementRow>({
  id: 'integer',
  backendId: ['integer', LEDGER_BACKEND],
  codec: 'integer',
  multihash: 'bytes',
  accountId: ['text', 'state.account_id'],
  isWanted: ['flag', 'wanted'],
  generation: 'integer',
  isPlaced: ['flag', 'placed'],
  attempts: ['integer', 'COALESCE(job.attempts, 0)'],
  dueAt: ['integer', JOB.dueAt],
  lastError: ['text', 'job.last_error'],
  unpinUntil: 'integer',
  isAnew: ['flag', 'anew'],
})

/** When the lease ends, another node may run the placement. A write with an old generation is rejected. */
const LEASE_MS = 600_000
const DAG = fragment`multihash = :multihash AND codec = :codec AND backend_id = :backend`
/** An external backend has public roots only. */
const ROOT = fragment`SELECT id FROM roots WHERE ${either("state = 'complete' AND ", '')} ${DAG} AND owner = 0`
const WANTED = fragment`account_id = excluded.account_id, wanted = TRUE, generation = p.generation + 1, placed = FALSE,
  anew = FALSE, wanted_at = excluded.wanted_at`
const STATES = withJob('placements', 'placement')

const FIND = sql`SELECT ${placement} FROM ${STATES} WHERE ${DAG}`
const OF_ROOT = (column: string) => `${column} = (SELECT ${column} FROM roots WHERE id = :rootId)`
const FIND_OF_ROOT = sql`
  SELECT ${placement} FROM ${STATES}
  WHERE ${OF_ROOT('multihash')} AND ${OF_ROOT('codec')} AND ${OF_ROOT('backend_id')}`
const FIND_SHARED = sql`SELECT ${placement} FROM ${STATES} WHERE ${DAG} ${either('', 'FOR SHARE OF state')}`
const LOCKED = sql`SELECT ${placement} FROM ${STATES} WHERE id = :id ${either('', 'FOR UPDATE OF state')}`
const COMPLETE_ROOT = sql<{ id: number }>`${ROOT}`
const CHANGED = 'RETURNING id, unpin_until AS "unpinUntil"'
const WANT = sql<Changed>`
  INSERT INTO placements AS p (backend_id, codec, multihash, account_id, wanted, generation, wanted_at)
  VALUES (:backend, :codec, :multihash, :accountId, TRUE, 1, :now)
  ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET ${WANTED}, entrusted = FALSE
  -- If the backend was to fetch a DAG that this node now has, the blocks are sent as usual.
  WHERE NOT p.wanted OR (p.entrusted AND NOT p.placed) ${CHANGED}`
const ENTRUST = sql<Changed>`
  INSERT INTO placements AS p (backend_id, codec, multihash, account_id, wanted, generation, wanted_at, entrusted)
  VALUES (:backend, :codec, :multihash, :accountId, TRUE, 1, :now, TRUE)
  ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET ${WANTED}, entrusted = TRUE WHERE NOT p.wanted ${CHANGED}`
const WITHDRAW = sql<{ id: number; accountId: string }>`
  UPDATE placements SET wanted = FALSE, placed = FALSE, generation = generation + 1
  WHERE ${DAG} AND wanted AND NOT EXISTS (${ROOT}) RETURNING id, account_id AS "accountId"`
const DUE = dueStates(placement, 'placements')
/** `IS NOT TRUE` prevents PostgreSQL from scanning the partial index whose condition is `NOT wanted`. */
const BEGIN_UNPIN = sql`
  UPDATE placements SET unpin_until = :until
  WHERE id = :id AND generation = :generation AND wanted IS NOT TRUE`
const PLACED = sql`UPDATE placements SET placed = TRUE, anew = FALSE WHERE id = :id`
const DELETE = sql`DELETE FROM placements WHERE id = :id`
const UNPIN_ENDED = sql`
  UPDATE placements SET unpin_until = :until WHERE id = :id AND NOT placed AND NOT (wanted AND entrusted)`
const AFTER = sql`
  SELECT ${placement} FROM ${STATES} WHERE id > :id ${either('', 'AND backend_id BETWEEN :least AND :most')}
  ORDER BY id LIMIT :limit`
const LOST = sql`
  UPDATE placements SET placed = FALSE, generation = generation + 1, wanted_at = :now, anew = TRUE, entrusted = FALSE
  WHERE id = :id AND generation = :generation AND wanted IS TRUE AND placed IS TRUE`
const DISOWN = sql<{ id: number }>`
  INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation)
  VALUES (:backend, :codec, :multihash, :accountId, FALSE, 1) ON CONFLICT DO NOTHING RETURNING id`
const WAITING = sql<{ pins: number; since: number | null }>`
  SELECT COUNT(*) AS pins, MIN(wanted_at) AS since FROM (
    SELECT wanted_at FROM placements ${indexed('placements_waiting')}
    WHERE ${isSet('wanted')} AND ${isUnset('placed')} AND backend_id = :backend ORDER BY wanted_at LIMIT :most) AS waiting`
const LEAVING = sql<{ unpins: number }>`
  SELECT COUNT(*) AS unpins FROM (
    SELECT 1 FROM placements ${indexed('placements_leaving')}
    WHERE ${isUnset('wanted')} AND backend_id = :backend LIMIT :most) AS waiting`

type Changed = Pick<PlacementRow, 'id' | 'unpinUntil'>

/** A page of the records that hold a root. The form of the cursor `next` depends on the database. */
export interface HeldPage {
  ids: readonly string[]
  next: unknown
}

export interface PlacementPorts {
  driver: CatalogueDriver
  node: string
  /** Converts the number of a backend on this node to its number in the catalogue. */
  backend: (backendId: number) => number
  lastBackend: number
  status: StatusRules
  /** Stores in the ledger when a backend received a DAG. `at` is null if the backend does not have the DAG. */
  setPlaced(backendId: number, dag: DagIdentity, at: number | null): void | Promise<void>
  /**
   * Locks and returns a page of the records that hold a root. `from` is the cursor of the page; null for the first
   * page.
   */
  recordsOf(rootId: number, from: unknown): Rule<HeldPage>
}

/**
 * Marks a DAG as wanted on a backend. Returns whether the backend already has the DAG.
 *
 * @param backend number of the backend in the catalogue
 */
export function* wantPlacement(
  backend: number,
  { codec, multihash, accountId }: DagIdentity & { accountId: string },
  now: number,
): Rule<boolean> {
  const changed = yield* first(WANT, { backend, codec, multihash, accountId, now })
  if (changed === null) return (yield* first(FIND_SHARED, { backend, codec, multihash }))?.isPlaced === true
  yield* enqueuePlacement(backend, { key: changed.id, accountId, dueAt: Math.max(now, changed.unpinUntil) })
  return false
}

/**
 * Marks a DAG as unwanted, unless this node has a complete root for the DAG.
 *
 * @param backend number of the backend in the catalogue
 */
export function* withdrawPlacement(backend: number, { codec, multihash }: DagIdentity): Rule<void> {
  const gone = yield* first(WITHDRAW, { backend, codec, multihash })
  if (gone !== null) yield* enqueuePlacement(backend, { key: gone.id, accountId: gone.accountId, dueAt: 0 })
}

function enqueuePlacement(
  backend: number,
  job: { key: number; accountId: string; dueAt: number; error?: string },
): Rule<void> {
  return enqueue({ kind: 'placement', queue: String(backend), error: null, ...job })
}

function jobOf(key: number): { kind: 'placement'; key: number } {
  return { kind: 'placement', key }
}

export function placementRules(parts: PlacementPorts): Placements {
  const { driver, node, backend, lastBackend, status, setPlaced, recordsOf } = parts
  const jobs = dueJobs(driver, 'placement', node, DUE)
  const keyOf = (backendId: number, { codec, multihash }: DagIdentity) => ({
    backend: backend(backendId),
    codec,
    multihash,
  })
  function* current({ id, generation }: PlacementKey): Rule<PlacementRow | null> {
    const row = yield* first(LOCKED, { id })
    return row?.generation === generation ? row : null
  }
  const waitAgain = (row: PlacementRow, rootId: number, from: unknown, step: { now: number; reason: string }) =>
    driver.transaction(function* () {
      // If the backend has received the DAG again, the records already have the right status.
      const isLost = (yield* current(row))?.isPlaced === false
      if (!isLost) return { changes: [], next: null }
      const { ids, next } = yield* recordsOf(rootId, from)
      const { now, reason: text } = step
      const changes = yield* status.among(ids, { from: 'pinned', to: 'pinning', now, reason: { code: null, text } })
      return { changes, next }
    })
  return {
    find: async (backendId, dag) => (await driver.first(FIND, keyOf(backendId, dag))) ?? undefined,
    ofRoot: async rootId => (await driver.first(FIND_OF_ROOT, { rootId })) ?? undefined,
    entrust: (backendId, dag, by) =>
      driver.transaction(function* () {
        const key = keyOf(backendId, dag)
        const changed = yield* first(ENTRUST, { ...key, ...by })
        if (changed !== null) yield* endJob(jobOf(changed.id))
        const row = yield* first(FIND_SHARED, key)
        if (row === null) throw new HoldfastError('INTERNAL_ERROR', 'the placement no longer exists')
        return row
      }),
    withdraw: (backendId, dag) => driver.transaction(() => withdrawPlacement(backend(backendId), dag)),
    due: ({ backendId, ...query }) => jobs.due(String(backend(backendId)), query),
    nextDue: backendId => jobs.nextDue(String(backend(backendId))),
    begin: key =>
      driver.transaction(
        function* () {
          const row = yield* current(key)
          const begun = row === null ? null : yield* beginJob(jobOf(row.id), { node, leaseMs: LEASE_MS })
          return row === null || begun === null ? undefined : { ...row, ...begun }
        },
        { durable: false },
      ),
    beginUnpin: async ({ id, generation }, until) => (await driver.run(BEGIN_UNPIN, { id, generation, until })) === 1,
    placed: (key, now) =>
      driver.transaction(function* () {
        const row = yield* current(key)
        const root = row?.isWanted === true ? yield* first(COMPLETE_ROOT, keyOf(row.backendId, row)) : null
        if (row === null || root === null) return { changes: [], isDone: true }
        if (!row.isPlaced) {
          // The row is still locked, so the ledger never marks an unwanted DAG as placed.
          yield* own(() => setPlaced(row.backendId, row, now))
          yield* run(PLACED, row)
          yield* endJob(jobOf(row.id))
        }
        return yield* status.placed(root.id, now)
      }),
    released: ({ id, generation }, { now, until }) =>
      driver.transaction(function* () {
        const row = yield* first(LOCKED, { id })
        if (row === null) return
        const isOver = !row.isWanted && row.generation === generation && until <= now
        if (isOver) yield* run(DELETE, { id })
        else if ((yield* run(UNPIN_ENDED, { id, until: until > now ? until : 0 })) > 0)
          yield* wakeJob(jobOf(id), Math.max(now, until))
      }),
    retry: (key, { at, reason }) =>
      driver.transaction(function* () {
        if ((yield* current(key)) !== null) yield* retryJob(jobOf(key.id), at, reason)
      }),
    after: (id, limit) => driver.all(AFTER, { id, limit, least: backend(0), most: backend(lastBackend) }),
    lost: async ({ id, generation }, lost) => {
      const found = await driver.transaction(function* () {
        const isLost = (yield* run(LOST, { id, generation, now: lost.now })) === 1
        const row = isLost ? yield* first(LOCKED, { id }) : null
        if (row === null) return null
        const { accountId } = row
        yield* enqueuePlacement(backend(row.backendId), { key: id, accountId, dueAt: lost.now, error: lost.reason })
        yield* own(() => setPlaced(row.backendId, row, null))
        const root = yield* first(COMPLETE_ROOT, keyOf(row.backendId, row))
        return root && { row, rootId: root.id }
      })
      const changes: StatusChange[] = []
      let isMore = found !== null
      for (let from: unknown = null; found !== null && isMore; ) {
        const step = await waitAgain(found.row, found.rootId, from, lost)
        for (const change of step.changes) changes.push(change)
        from = step.next
        isMore = from !== null
      }
      return changes
    },
    disown: (backendId, dag, now) =>
      driver.transaction(function* () {
        const made = yield* first(DISOWN, { ...keyOf(backendId, dag), accountId: NOBODY })
        if (made === null) return false
        yield* enqueuePlacement(backend(backendId), { key: made.id, accountId: NOBODY, dueAt: now })
        return true
      }),
    lag: async backendId => {
      const of = { backend: backend(backendId), most: MOST_WAITING }
      const { pins = 0, since = null } = (await driver.first(WAITING, of)) ?? {}
      return { pins, since, unpins: (await driver.first(LEAVING, of))?.unpins ?? 0 }
    },
  }
}
