import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import type { CatalogueRecord, WrongRecord } from './reconciliation-rules.ts'
import type { HeldRecord } from './removal-rules.ts'

export type OfferedLedger = Pick<CatalogueHolds, 'find' | 'findAnywhere' | 'isLostFrom' | 'keeps'>

/** The nodes that may take content, as the database knows them. */
export interface Takers {
  /** Name of this node. */
  self: string
  /** Names of the nodes that have not been given up. */
  running: ReadonlySet<string>
  /** Name of the node of each cluster, by the configuration of that node. */
  keepers: ReadonlyMap<string, string>
}

/** A record of another node whose content is on this node. */
export interface OfferedRecord {
  record: HeldRecord
  root: NonNullable<ReturnType<CatalogueHolds['findAnywhere']>>
  /** Name of the node that takes the content. */
  taker: string
}

/**
 * Returns the node that must have the content of a record: the node of its hold, or else the node of its cluster. If no
 * node keeps the cluster, this is the node itself, which has the content.
 *
 * @param record.node name of the node that has the hold of the record
 */
export function takerOf(record: { node: string | null; clusterId: string }, takers: Takers): string {
  const { self, running, keepers } = takers
  if (record.node !== null && running.has(record.node)) return record.node
  return keepers.get(record.clusterId) ?? self
}

/**
 * Compares records of a database that was set back with the ledger of a node. Returns the node's records that lack a
 * hold on its content, and other nodes' records whose content is on the node.
 *
 * @param local.homes the backend of each cluster of this node
 */
export async function compareOffered(
  found: readonly CatalogueRecord[],
  local: { ledger: OfferedLedger; homes: ReadonlyMap<string, number>; takers: Takers },
): Promise<{ wrong: WrongRecord[]; others: OfferedRecord[] }> {
  const { ledger, homes, takers } = local
  const wrong: WrongRecord[] = []
  const others: OfferedRecord[] = []
  for (const record of found) {
    if (turnSpent()) await nextTurn()
    if (record.status === 'failed' && !record.isLost) continue
    const own = record.node === takers.self ? record.own : null
    if (isHeld(ledger, record, own)) continue
    const taker = takerOf(record, takers)
    const places = taker === takers.self ? [own, homes.get(record.clusterId) ?? null] : []
    const known = places.flatMap(place => (place === null ? [] : (ledger.find(place, record, record.owner) ?? [])))
    const root = known[0] ?? ledger.findAnywhere(record, record.owner)
    if (root === undefined || ledger.isLostFrom(root.id)) continue
    if (taker === takers.self) wrong.push({ record, kind: repairOf(record), backendId: root.backendId })
    else others.push({ record, root, taker })
  }
  return { wrong, others }
}

/** Returns whether a node keeps the content of a record on the backend `own`, with the hold of the record. */
export function isHeld(ledger: Pick<OfferedLedger, 'keeps'>, record: HeldRecord, own: number | null): boolean {
  return own !== null && record.holdId !== null && ledger.keeps(record.holdId, own, record)
}

/** Returns the repair that gives a record a hold on content that its node has. */
export function repairOf({ status }: HeldRecord): 'record-unheld' | 'record-whole' {
  return status === 'pinned' ? 'record-unheld' : 'record-whole'
}
