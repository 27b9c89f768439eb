import type { ApiKey } from '../access/api-key.ts'
import type { Account, Scope } from '../access/principal.ts'
import type { Page } from '../catalogue/page.ts'
import type { Session } from '../catalogue/sessions.ts'
import type { Cluster } from '../clusters/cluster-registry.ts'
import type { Plan } from '../domain/plan.ts'
import type { CarOutcome, DirectoryOutcome, ListItem, ListPage, PinProgress, PinRecord, Usage } from '../pins/types.ts'

/** UTC with milliseconds, or null. */
function iso(ms: number): string
function iso(ms: number | null): string | null
function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Clients declare a name that is always there: what has none is called by its path, or its CID. */
function shownName({ name, cid }: PinRecord, path: string | null = null): string {
  return name ?? path?.slice(path.lastIndexOf('/') + 1) ?? cid
}

/** The answer to an upload; the contract's fields come first here and below. */
export function presentUpload(record: PinRecord): object {
  return {
    cid: record.cid,
    clusterId: record.clusterId,
    expiresAt: iso(record.expiresAt),
    createdAt: iso(record.createdAt),
    status: record.status,
    uploadId: record.uploadId,
    name: shownName(record),
    size: record.size,
    type: record.type,
  }
}

/** The answer for a CAR: that of its first root, and all roots. */
export function presentCar({ record, roots }: CarOutcome): object {
  return {
    ...presentUpload(record),
    roots: roots.map(({ record: one, missing }) => ({ ...presentUpload(one), missing })),
  }
}

export function presentDirectory(outcome: DirectoryOutcome): object {
  return { message: outcome.created ? 'directory uploaded' : 'directory was there already', ...presentDag(outcome) }
}

/** The files of a record, in the shape of the answer that made it. */
export function presentDag({ record, files, totalFiles }: DirectoryOutcome): object {
  return {
    ...presentUpload(record),
    dagCid: record.cid,
    filename: shownName(record),
    files: files.map(({ cid, path, size }) => ({ cid, filename: path.slice(path.lastIndexOf('/') + 1), size, path })),
    total_files: totalFiles,
    total_size: record.size,
  }
}

export function presentPin(record: PinRecord): object {
  return {
    ...presentUpload(record),
    pinned: record.status === 'pinned',
    originalName: record.originalName,
    customName: record.customName,
  }
}

/** How far a content is: its newest record in full, and every record as an allocation. */
export function presentStatus(progress: readonly PinProgress[]): object {
  const [newest] = progress
  if (newest === undefined) return {}
  return {
    ...presentPin(newest.record),
    statusAt: iso(newest.statusAt),
    reason: newest.reason,
    blocks: newest.blocks,
    bytes: newest.bytes,
    attempts: newest.attempts,
    nextAttemptAt: iso(newest.nextAttemptAt),
    lastError: newest.lastError,
    lastAnnounced: iso(newest.announcedAt),
    peers: [...new Set(progress.map(({ record }) => record.clusterId))],
    allocations: progress.map(presentAllocation),
  }
}

export function presentAllocations(progress: readonly PinProgress[]): object {
  const [newest] = progress
  if (newest === undefined) return {}
  const { record, statusAt } = newest
  const clusters = new Set(
    progress.filter(({ record: { status } }) => status === 'pinned').map(p => p.record.clusterId),
  )
  return {
    cid: record.cid,
    clusterId: record.clusterId,
    name: shownName(record),
    timestamp: iso(statusAt),
    replication_factor: clusters.size,
    nodes: progress.map(presentAllocation),
    allocations: progress.map(presentAllocation),
  }
}

function presentAllocation({ record, statusAt, lastError }: PinProgress): object {
  return { peer: record.clusterId, status: record.status, timestamp: iso(statusAt), error: lastError }
}

export function presentList(page: ListPage): object {
  const { total, page: number, limit, totalPages } = page
  return { uploads: page.items.map(presentItem), total, pagination: { page: number, limit, total, totalPages } }
}

function presentItem(item: ListItem): object {
  return {
    ...presentUpload(item),
    name: shownName(item, item.path),
    uploadedAt: iso(item.createdAt),
    originalName: item.originalName,
    customName: item.customName,
    dagSize: item.dagSize,
    parentCid: item.parentCid,
    path: item.path,
  }
}

export function presentCluster(cluster: Cluster): object {
  const { id, label, region, country, gateways } = cluster
  return { clusterId: id, gateways, id, label, region, country }
}

export function presentUser(account: Account, plan: Plan, clusters: number, usage: Usage): object {
  return {
    id: account.id,
    email: account.email,
    username: account.email,
    name: account.name,
    role: account.role,
    plan: plan.name,
    planDetails: { ...plan },
    clusters,
    usage,
    createdAt: iso(account.createdAt),
  }
}

/** An account as the owner of the node sees it. */
export function presentManagedAccount(account: Account, usage: Usage): object {
  return { ...account, createdAt: iso(account.createdAt), usage }
}

/** `current`: the id of the session that asks, if one does. */
export function presentSessions({ rows, next }: Page<Session>, current: string | null): object {
  const sessions = rows.map(({ id, createdAt, expiresAt }) => {
    return { id, createdAt: iso(createdAt), expiresAt: iso(expiresAt), current: id === current }
  })
  return { sessions, next }
}

export function presentNewKey(secret: string, key: ApiKey): object {
  const { name, label, scopes } = key
  return { token: secret, name, label, scopes, expiresAt: iso(key.expiresAt), createdAt: iso(key.createdAt) }
}

export function presentKey(key: ApiKey): object {
  return {
    name: key.name,
    label: key.label,
    prefix: key.prefix,
    parent: key.parent,
    scopes: key.scopes,
    permissions: permissionsOf(key.scopes),
    ipAllowlist: key.ipAllowlist,
    createdAt: iso(key.createdAt),
    lastUsed: iso(key.lastUsedAt),
    expiresAt: iso(key.expiresAt),
  }
}

/** Scopes in the words of older clients. */
function permissionsOf(scopes: readonly Scope[]): string[] {
  const has = (...wanted: Scope[]): boolean => wanted.every(scope => scopes.includes(scope))
  const permissions: string[] = []
  if (has('files:read', 'cluster:read')) permissions.push('read')
  if (has('files:write')) permissions.push('write')
  if (has('files:read', 'files:write', 'files:delete', 'cluster:read')) permissions.push('admin')
  return permissions
}
