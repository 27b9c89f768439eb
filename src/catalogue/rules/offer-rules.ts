import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Visibility } from '../../domain/visibility.ts'
import type { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { CatalogueRecord, WrongRecord } from './reconciliation-rules.ts'
import type { HeldRecord } from './removal-rules.ts'

export type OfferedLedger = Pick<CatalogueHolds, 'find' | 'findAnywhere' | 'isLostFrom' | 'isMuted' | 'keeps'>

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

/** A record that the catalogue and the ledger call differently. Its content is below a root of the other visibility. */
export interface HiddenRecord {
  record: HeldRecord
  /** The visibility in the catalogue. */
  catalogue: Visibility
  root: OfferedRecord['root']
  /** The number of its account. */
  owner: number
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
 * hold on its content, and other nodes' records whose content is on the node. Also returns its own records whose content
 * it lacks.
 *
 * @param local.homes the backend of each cluster of this node
 * @param local.numbers the number of each account that has one
 */
export async function compareOffered(
  found: readonly CatalogueRecord[],
  local: {
    ledger: OfferedLedger
    homes: ReadonlyMap<string, number>
    takers: Takers
    numbers: ReadonlyMap<string, number>
  },
): Promise<{ wrong: WrongRecord[]; others: OfferedRecord[]; hidden: HiddenRecord[]; lost: HeldRecord[] }> {
  const { ledger, homes, takers, numbers } = local
  const wrong: WrongRecord[] = []
  const others: OfferedRecord[] = []
  const hidden: HiddenRecord[] = []
  const lost: HeldRecord[] = []
  for (const record of found) {
    if (turnSpent()) await nextTurn()
    if (record.status === 'failed' && !record.isLost) continue
    const own = record.node === takers.self ? record.own : null
    // A former hold lets nobody read, until it is released.
    if (isHeld(ledger, record, own) && !ledger.isMuted(record.holdId ?? '')) continue
    const taker = takerOf(record, takers)
    const places = taker === takers.self ? [own, homes.get(record.clusterId) ?? null] : []
    const rootOf = (owner: number): OfferedRecord['root'] | undefined => {
      const known = places.flatMap(place => (place === null ? [] : (ledger.find(place, record, owner) ?? [])))
      const root = known[0] ?? ledger.findAnywhere(record, owner)
      return root === undefined || ledger.isLostFrom(root.id) ? undefined : root
    }
    const root = rootOf(record.owner)
    const owner = taker === takers.self ? numbers.get(record.accountId) : undefined
    const hiding = owner === undefined ? null : hiddenRecord(record, owner, root, rootOf)
    if (hiding !== null) {
      hidden.push(hiding)
      continue
    }
    if (root === undefined) {
      if (own !== null && record.status === 'pinned') lost.push(record)
      continue
    }
    if (taker === takers.self) wrong.push({ record, kind: repairOf(record), backendId: root.backendId })
    else others.push({ record, root, taker })
  }
  return { wrong, others, hidden, lost }
}

/**
 * Returns a record that is private for the catalogue or the ledger, and public for the other: it becomes private.
 * Returns null if they agree.
 */
function hiddenRecord(
  record: HeldRecord,
  owner: number,
  own: OfferedRecord['root'] | undefined,
  rootOf: (owner: number) => OfferedRecord['root'] | undefined,
): HiddenRecord | null {
  if (record.owner !== PUBLIC && own !== undefined) return null
  const catalogue = record.owner === PUBLIC ? 'public' : 'private'
  const root = rootOf(catalogue === 'public' ? owner : PUBLIC)
  return root === undefined ? null : { record, catalogue, root, owner }
}

/** Returns whether a node keeps the content of a record on the backend `own`, with the hold of the record. */
export function isHeld(ledger: Pick<OfferedLedger, 'keeps'>, record: HeldRecord, own: number | null): boolean {
  return own !== null && record.holdId !== null && ledger.keeps(record.holdId, own, record)
}

/** Returns the repair that gives a record a hold on content that its node has. */
export function repairOf({ status }: HeldRecord): 'record-unheld' | 'record-whole' {
  return status === 'pinned' ? 'record-unheld' : 'record-whole'
}
