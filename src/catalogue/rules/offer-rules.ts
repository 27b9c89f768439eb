import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import { type CatalogueRecord, isSound, type WrongRecord } from './reconciliation-rules.ts'
import type { HeldRecord } from './removal-rules.ts'

export type OfferedLedger = Pick<CatalogueHolds, 'find' | 'findAnywhere' | 'isLostFrom' | 'keeps'>

/** A record of another node whose content is on this node. */
export interface OfferedRecord {
  record: HeldRecord
  root: NonNullable<ReturnType<CatalogueHolds['findAnywhere']>>
}

/**
 * Compares records of a database that was set back with the ledger of a node. Returns the node's records that lack a
 * hold on its content, and other nodes' records whose content is on the node.
 *
 * @param local.homes the backend of each cluster of this node
 */
export async function compareOffered(
  found: readonly CatalogueRecord[],
  local: { ledger: OfferedLedger; node: string; homes: ReadonlyMap<string, number> },
): Promise<{ wrong: WrongRecord[]; others: OfferedRecord[] }> {
  const { ledger, node, homes } = local
  const wrong: WrongRecord[] = []
  const others: OfferedRecord[] = []
  for (const record of found) {
    if (turnSpent()) await nextTurn()
    if (record.status === 'failed' && !record.isLost) continue
    const home = homes.get(record.clusterId)
    const isOwn = home !== undefined && (record.node === null || record.node === node)
    if (isOwn && record.own !== null && isSound(ledger, record, record.own)) continue
    const known = record.own === null ? undefined : ledger.find(record.own, record)
    const root = isOwn ? (known ?? ledger.find(home, record)) : ledger.findAnywhere(record)
    if (root === undefined || ledger.isLostFrom(root.id)) continue
    if (isOwn) wrong.push({ record, kind: repairOf(record), backendId: root.backendId })
    else others.push({ record, root })
  }
  return { wrong, others }
}

/** Returns the repair that gives a record a hold on content that its node has. */
export function repairOf({ status }: HeldRecord): 'record-unheld' | 'record-whole' {
  return status === 'pinned' ? 'record-unheld' : 'record-whole'
}
