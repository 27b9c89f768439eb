import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Visibility } from '../../domain/visibility.ts'
import { cidOf } from '../../ipld/cid.ts'
import { DEFAULT_BACKEND_ID } from '../../ledger/blocks.ts'
import type { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import type { StatusChange } from '../fetches.ts'
import type { Reconciliation, RecordFinding, RecordProblem } from '../reconciliation.ts'
import { either, LEDGER_BACKEND } from './dialect.ts'
import { type CatalogueDriver, first, type Rule } from './driver.ts'
import { type HeldRecord, heldRecord } from './removal-rules.ts'
import { columns, fragment, sql } from './statement.ts'

export interface WrongRecord {
  record: HeldRecord
  kind: RecordProblem
  backendId: number
}

export type ReconciledLedger = Pick<
  CatalogueHolds,
  'holdsAfter' | 'rootsAfter' | 'drop' | 'keeps' | 'isLostFrom' | 'find' | 'rootOf'
>

export interface ReconciliationParts extends Pick<Reconciliation, 'recount' | 'requeue'> {
  ledger: ReconciledLedger
  /** Name of the node that owns the ledger; null if the catalogue has only one node. */
  node: string | null
  /** Returns the holds that no record and no fetch needs. */
  unwanted(holds: readonly string[]): Promise<string[]>
  /**
   * Releases holds, except holds that are needed again.
   *
   * @param isLast true if no more holds follow
   */
  release(holds: readonly string[], isLast: boolean): Promise<void>
  /** Returns the records of a database that was set back whose visibility somebody has to decide. */
  disputed?(records: readonly string[]): Promise<ReadonlyMap<string, Visibility>>
  /** Repairs records, except records whose inconsistency has changed. */
  mend(wrong: readonly WrongRecord[], now: number): Promise<StatusChange[]>
}

const OWN_BACKEND = fragment`(SELECT ${LEDGER_BACKEND} FROM roots WHERE roots.id = records.root_id)`
const HOLDING_NODE = either('NULL', '(SELECT node FROM holds WHERE holds.id = hold_id)')
export type CatalogueRecord = HeldRecord & {
  /** Name of the node that has the hold. */
  node: string | null
  /** The record's backend in the ledger of that node. */
  own: number | null
  /** True if another node offers the content of the record. */
  isOffered: boolean
  /** True if the content was lost with a node, and is not complete again. */
  isLost: boolean
}
export const foundRecord = columns<CatalogueRecord>({
  ...heldRecord.kinds,
  node: ['text', HOLDING_NODE],
  own: ['integer', OWN_BACKEND],
  // A limit keeps PostgreSQL from reading all offers into a hash.
  isOffered: ['flag', either('0', 'COALESCE((SELECT TRUE FROM offers WHERE record_id = records.id LIMIT 1), FALSE)')],
  isLost: ['flag', either('0', 'lost_with IS NOT NULL')],
})
const foundFetch = columns<{ id: number; isWanted: boolean }>({
  id: 'integer',
  isWanted: ['flag', '(SELECT 1 FROM records WHERE fetch_id = fetches.id LIMIT 1) IS NOT NULL'],
})
export const RECORDS_AFTER = sql`SELECT ${foundRecord} FROM records WHERE id > :after ORDER BY id LIMIT :limit`
const ACCOUNTS = sql<{ id: string }>`SELECT id FROM accounts WHERE id > :after ORDER BY id LIMIT :limit`
const FETCHES = sql`SELECT ${foundFetch} FROM fetches WHERE id > :after ORDER BY id LIMIT :limit`
const FETCH = sql`SELECT 1 FROM fetches WHERE id = :fetchId`

export function reconciliationRules(driver: CatalogueDriver, parts: ReconciliationParts): Reconciliation {
  const { ledger } = parts
  return {
    holds: async ({ after, limit, mend }) => {
      const found = ledger.holdsAfter(after, limit)
      const unwanted = await parts.unwanted(found)
      if (mend) await parts.release(unwanted, found.length === 0)
      return { unwanted, seen: found.length, last: found.at(-1) ?? null }
    },
    roots: async ({ after, limit, mend }) => {
      const found = ledger.rootsAfter(after, limit)
      const unwanted = found.filter(({ isHeld }) => isHeld === 0)
      if (mend && unwanted.length > 0) await ledger.drop(unwanted.map(({ id }) => id))
      const cids = unwanted.map(dag => cidOf(dag).toString())
      return { unwanted: cids, seen: found.length, last: found.at(-1)?.id ?? null }
    },
    records: async ({ after, limit, homes, now, mend }) => {
      const found = await driver.some(RECORDS_AFTER, { after, limit })
      const wrong: WrongRecord[] = []
      for (const { node, own, isOffered, isLost: _, ...record } of found) {
        if (turnSpent()) await nextTurn()
        const home = homes.get(record.clusterId) ?? (node === parts.node && isLocal(homes, own) ? own : null)
        if (home === null || (node !== null && node !== parts.node)) continue
        if (own !== null && isSound(ledger, record, own)) continue
        const isThere = own !== null && ledger.find(own, record, record.owner) !== undefined
        const backendId = isThere ? own : home
        const kind = await driver.read(problemOf(ledger, record, backendId))
        const isLost = kind === 'record-lost' && !isOffered
        if (isLost || (kind !== null && kind !== 'record-lost')) wrong.push({ record, kind, backendId })
      }
      const changes = mend && wrong.length > 0 ? await parts.mend(wrong, now) : []
      const findings: RecordFinding[] = wrong.map(({ record: { id, cid }, kind }) => ({ kind, record: id, cid }))
      const disputed = await parts.disputed?.(found.map(({ id }) => id))
      for (const { id, cid } of found) {
        const catalogue = disputed?.get(id)
        if (catalogue !== undefined) findings.push({ kind: 'record-disputed', record: id, cid, catalogue })
      }
      return { findings, changes, seen: found.length, last: found.at(-1)?.id ?? null }
    },
    accounts: async step => (await driver.all(ACCOUNTS, step)).map(({ id }) => id),
    fetches: async step => {
      const found = await driver.some(FETCHES, step)
      const unwanted = found.filter(({ isWanted }) => !isWanted).map(({ id }) => id)
      return { unwanted, seen: found.length, last: found.at(-1)?.id ?? null }
    },
    recount: step => parts.recount(step),
    requeue: root => parts.requeue(root),
  }
}

/**
 * Returns whether a backend is a directory of this node. A record with a hold in it belongs to the node, even if the
 * configuration has moved or removed its cluster.
 */
export function isLocal(homes: ReadonlyMap<string, number>, backendId: number | null): boolean {
  return backendId === DEFAULT_BACKEND_ID || [...homes.values()].some(home => home === backendId)
}

/** Recognises most records in one lookup. {@link problemOf} also finds no problem with such a record. */
function isSound(ledger: Pick<ReconciledLedger, 'keeps'>, record: HeldRecord, backendId: number): boolean {
  const { status, holdId } = record
  return status === 'pinned' && holdId !== null && ledger.keeps(holdId, backendId, record)
}

/** Returns null if the record and the ledger agree. */
export function* problemOf(
  ledger: ReconciledLedger,
  record: HeldRecord,
  backendId: number,
): Rule<RecordProblem | null> {
  const { status, holdId, rootId, fetchId } = record
  const root = ledger.find(backendId, record, record.owner)
  const isHeld = root !== undefined && holdId !== null && ledger.rootOf(holdId) === root.id
  if (status === 'pinned') {
    if (root === undefined) return 'record-lost'
    return isHeld ? null : 'record-unheld'
  }
  // The record waits for an external backend. Until the backend has the content, the content needs a hold.
  if (rootId !== null) return isHeld ? null : 'record-lost'
  if (isHeld && !ledger.isLostFrom(root.id)) return 'record-whole'
  if (status === 'failed') return null
  const isFetched = fetchId !== null && (yield* first(FETCH, { fetchId })) !== null
  return isFetched ? null : 'record-unfetched'
}
