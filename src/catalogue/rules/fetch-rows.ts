import { FETCH_ORIGINS } from '../../domain/origins.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { FetchRow } from '../fetches.ts'
import type { Brought } from '../records.ts'
import { either, indexed, LEDGER_BACKEND } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { enqueue, JOB, type NewJob, withJob } from './job-rules.ts'
import { withdrawPlacement } from './placement-rules.ts'
import { columns, fragment, sql } from './statement.ts'
import { SOME_WAITING_AS, type StatusRules } from './status-rules.ts'

export type HeldFetch = FetchRow & { holdId: string; isRunning: boolean; node: string }

export const fetch = columns<FetchRow>({
  id: 'integer',
  accountId: ['text', 'state.account_id'],
  backendId: ['integer', LEDGER_BACKEND],
  codec: 'integer',
  multihash: 'bytes',
  owner: 'integer',
  possessor: 'integer',
  rootId: 'integer',
  origins: 'json',
  attempts: ['integer', JOB.attempts],
  nextAttemptAt: ['integer', JOB.dueAt],
  lastError: ['text', JOB.lastError],
  blocks: 'integer',
  bytes: 'integer',
  charge: 'integer',
  isWhole: ['flag', 'whole'],
})
const heldFetch = columns<HeldFetch>({
  ...fetch.kinds,
  holdId: ['text', either("'fetch ' || id", 'hold_id')],
  isRunning: ['flag', 'running'],
  node: ['text', either("''", 'node')],
})

const STATES = withJob('fetches', 'fetch')
const LOCK = either('', 'FOR UPDATE OF state')
const DAG = fragment`multihash = :multihash AND codec = :codec AND backend_id = :backend AND owner = :owner`

export const FIND = sql`SELECT ${fetch} FROM ${STATES} WHERE ${DAG}`
export const GET = sql`SELECT ${fetch} FROM ${STATES} WHERE id = :fetchId`
const LOCKED = sql`SELECT ${heldFetch} FROM ${STATES} WHERE id = :fetchId ${LOCK}`
const FIND_LOCKED = sql`SELECT ${heldFetch} FROM ${STATES} WHERE ${DAG} ${LOCK}`
const INSERT = sql<{ id: number }>`
  INSERT INTO fetches (account_id, backend_id, codec, multihash, owner, possessor, root_id, origins, blocks, bytes, charge
    ${either('', ', node, hold_id, created_at')})
  VALUES (:accountId, :backend, :codec, :multihash, :owner, :possessor, :rootId, :origins, :blocks, :bytes, :charge
    ${either('', ', :node, :holdId, :now')})
  ON CONFLICT DO NOTHING RETURNING id`
const SET_POSSESSOR = sql`UPDATE fetches SET possessor = :possessor WHERE id = :fetchId`
const SET_ORIGINS = sql`UPDATE fetches SET origins = :origins WHERE id = :fetchId`
export const SET_WHOLE = sql`UPDATE fetches SET whole = TRUE, root_id = :rootId WHERE id = :fetchId`
const DELETE = sql`DELETE FROM fetches WHERE id = :fetchId`
export const ANY_WAITING = sql`
  SELECT 1 FROM records ${indexed('records_by_fetch')} WHERE fetch_id = :fetchId AND fetch_id IS NOT NULL LIMIT 1`

export interface StagedRoot {
  rootId: number
  /** Null if the id of the hold is derived from the id of the fetch. */
  holdId: string | null
}

export interface WantedFetch {
  backendId: number
  record: DagIdentity & { accountId: string }
  /** Owner of the root to fetch. */
  owner: number
  /** Default: the owner. 0 for public blocks only. */
  possessor?: number
  origins?: readonly string[]
  now: number
  brought?: Brought
}

export interface FetchParts {
  driver: CatalogueDriver
  node: string
  /** Converts the number of a backend on this node to its number in the catalogue. */
  backend: (backendId: number) => number
  status: StatusRules
  hold(fetchId: number, rootId: number): Rule<void>
  release(holdId: string): Rule<void>
  /** Removes the released holds from the ledger, after the transaction. */
  dropReleased(): Promise<void>
  /** Notifies another node that one of its fetches may be unneeded. */
  notify(node: string): Rule<void>
}

/** Returns null if the DAG already has a fetch. */
export function* insertFetch(parts: FetchParts, wanted: WantedFetch, staged: StagedRoot): Rule<number | null> {
  const { backendId, record, owner, origins = [], now, brought = { blocks: 0, bytes: 0, charge: 0 } } = wanted
  const { accountId, codec, multihash } = record
  const { possessor = owner } = wanted
  const values = { ...brought, ...staged, accountId, codec, multihash, owner, possessor, origins, now }
  const made = yield* first(INSERT, { ...values, backend: parts.backend(backendId), node: parts.node })
  if (made === null) return null
  yield* enqueue(fetchJob(parts, { id: made.id, accountId }, now))
  yield* parts.hold(made.id, staged.rootId)
  return made.id
}

/**
 * Returns the fetch of a DAG. Makes the fetch due unless it is running.
 *
 * @param begin inserts a fetch if the DAG has none
 */
export function* fetchFor(
  parts: FetchParts,
  wanted: WantedFetch,
  begin: () => Rule<number>,
): Rule<{ id: number; isRunning: boolean; isNew: boolean }> {
  const { backendId, record, owner, possessor = owner, origins = [], now } = wanted
  const { codec, multihash } = record
  const known = yield* first(FIND_LOCKED, { codec, multihash, owner, backend: parts.backend(backendId) })
  if (known === null) return { id: yield* begin(), isRunning: false, isNew: true }
  const { id: fetchId, isRunning } = known
  if (possessor !== PUBLIC && known.possessor !== possessor) yield* run(SET_POSSESSOR, { fetchId, possessor })
  if (!isRunning && (yield* first(SOME_WAITING_AS, { fetchId, from: 'queued' })) === null) {
    const all = [...new Set([...origins, ...known.origins])].slice(0, FETCH_ORIGINS)
    yield* run(SET_ORIGINS, { fetchId, origins: all })
    yield* enqueue(fetchJob(parts, known, now, known.lastError))
  }
  return { id: fetchId, isRunning, isNew: false }
}

export function fetchJob(
  { node: queue }: FetchParts,
  { id: key, accountId }: { id: number; accountId: string },
  dueAt: number,
  error: string | null = null,
): NewJob {
  return { kind: 'fetch', key, queue, accountId, dueAt, error }
}

/** Locks a fetch, so that no record can start to wait for the fetch and no transaction can remove it. */
export function lockFetch(fetchId: number): Rule<HeldFetch | null> {
  return first(LOCKED, { fetchId })
}

/**
 * Removes a fetch without waiting records, with its hold and its placement. Returns whether the fetch no longer exists.
 */
export function* dropIfUnneeded(parts: FetchParts, fetch: HeldFetch | null): Rule<boolean> {
  if (fetch === null) return true
  if ((yield* first(ANY_WAITING, { fetchId: fetch.id })) !== null) return false
  yield* run(DELETE, { fetchId: fetch.id })
  yield* parts.release(fetch.holdId)
  yield* withdrawPlacement(parts.backend(fetch.backendId), fetch)
  return true
}
