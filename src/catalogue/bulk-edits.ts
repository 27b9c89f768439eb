import type { Visibility } from '../domain/visibility.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import { isOverlongName } from './overlong-name.ts'
import type { RecordRow } from './records.ts'

/** How a job edits each of its records. Fields that are absent change nothing. */
export interface BulkEdit {
  /** Replaces `find` in the shown name, then adds a prefix and a suffix. */
  rename?: { find: string; replace: string; prefix: string; suffix: string }
  /** New expiry in milliseconds since the epoch. Null for none. */
  expiresAt?: number | null
  /** New cluster, and the clusters from which a record may move to it. They share one backend. */
  cluster?: { to: string; from: readonly string[] }
  /** The visibility that `Records.setOwner` has given to each record before. */
  visibility?: Visibility
}

/** Why a record cannot be edited, as the code of a failure. */
export type EditRefusal = 'VALIDATION' | 'CLUSTER_NOT_ALLOWED' | 'CONFLICT'

/** Returns the edited record, or the same object if the edit changes nothing. */
export function editedRecord(
  row: RecordRow,
  { rename, expiresAt, cluster, visibility }: BulkEdit,
): RecordRow | EditRefusal {
  const after = { ...row }
  if (rename !== undefined) {
    const before = row.name ?? row.customName ?? row.originalName ?? row.cid
    const replaced = rename.find === '' ? before : before.replaceAll(rename.find, () => rename.replace)
    const name = `${rename.prefix}${replaced}${rename.suffix}`.trim()
    if (name === '' || isOverlongName(name)) return 'VALIDATION'
    if (name !== before) Object.assign(after, { name, customName: name })
  }
  if (expiresAt !== undefined) after.expiresAt = expiresAt
  if (cluster !== undefined && row.clusterId !== cluster.to) {
    if (!cluster.from.includes(row.clusterId)) return 'CLUSTER_NOT_ALLOWED'
    after.clusterId = cluster.to
  }
  if (visibility !== undefined && (visibility === 'public') !== (row.owner === PUBLIC)) return 'CONFLICT'
  const isSame =
    after.name === row.name &&
    after.customName === row.customName &&
    after.expiresAt === row.expiresAt &&
    after.clusterId === row.clusterId
  return isSame ? row : after
}
