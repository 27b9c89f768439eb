import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { foreignContent, placeOf } from '../disk/data-directory.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { OWNERS_DIRECTORY } from '../disk/node-file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { checkWritable } from '../disk/writable.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { Database } from '../storage/database.ts'
import {
  type BackendRow,
  backendAt,
  backendOf,
  hasBlocks,
  hasRoots,
  insertBackend,
  setClusters,
  updateBackend,
} from './backend-table.ts'
import { absentBackends } from './unused-backends.ts'

const IDENTITY = 'identity'
const TEXT = /^[0-9a-f-]{36}\n?$/
const REMEDY = 'Name the right directory, or set absent: true on the cluster to start without it'

/** A data directory that one or more clusters use. The clusters may name the directory by different paths. */
export interface ClusterDirectory {
  path: string
  backendId: number
  /** Clusters that write new content to the directory; empty if the directory occurs only in `alsoIn`. */
  clusterIds: string[]
}

export interface ClusterDirectories {
  directories: ClusterDirectory[]
  /** Backends whose clusters are declared absent. */
  absent: ReadonlySet<number>
}

interface Found extends Omit<ClusterDirectory, 'backendId'> {
  /** Null for a new directory. */
  backendId: number | null
  isMarked: boolean
  /** The backend, if its directory was at another path before. */
  moved: BackendRow | null
  namedBy: string[]
  refuse: Refuse
}

/**
 * Recognises the data directories of clusters by device and inode, and creates new directories. An identity file in
 * each directory distinguishes an empty directory from an unmounted, moved or foreign one. Before creating anything,
 * checks that clusters use all directories with content.
 *
 * If a cluster has moved to another node, its directory on this node stays readable while it has content.
 *
 * @param all the clusters of all nodes, any of which may be declared absent
 * @throws HoldfastError `CONFIG_INVALID` if a directory is the engine's own, or if no cluster uses a directory with
 * content; `DATA_DIR_UNUSABLE`, naming the cluster and the directory
 */
export async function clusterDirectories(
  database: Database,
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  all: readonly ClusterDefinition[] = clusters,
): Promise<ClusterDirectories> {
  const { found, absent } = checkDirectories(database, dataDir, clusters, all)
  const directories: ClusterDirectory[] = []
  for (const { path, clusterIds, namedBy, refuse, isMarked, moved, ...directory } of found) {
    if (moved !== null) updateBackend(database, { ...moved, dataDir: path })
    const known = isMarked ? directory.backendId : null
    const backendId = known ?? (await identify(database, path, refuse))
    setClusters(database, backendId, namedBy.join(' '))
    directories.push({ path, clusterIds, backendId })
  }
  return { directories, absent }
}

/**
 * Refuses wrong directories as {@link clusterDirectories} does, but changes nothing. The id of a new directory is null.
 */
export function checkClusterDirectories(
  ...args: Parameters<typeof clusterDirectories>
): Array<Omit<ClusterDirectory, 'backendId'> & { backendId: number | null }> {
  const { found } = checkDirectories(...args)
  for (const { path, isMarked, refuse } of found) {
    if (isMarked) continue
    try {
      checkWritable(path)
    } catch (cause) {
      refuse(unusable(cause))
    }
  }
  return found
}

function checkDirectories(
  database: Database,
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  all: readonly ClusterDefinition[] = clusters,
): { found: Found[]; absent: ReadonlySet<number> } {
  const found = findDirectories(database, dataDir, clusters, movedAway(database, clusters, all))
  const used = new Set(found.flatMap(({ backendId }) => backendId ?? []))
  return { found, absent: absentBackends(database, used, all) }
}

/** Returns the clusters of other nodes whose content is still in a directory of this node. */
function movedAway(
  database: Database,
  clusters: readonly ClusterDefinition[],
  all: readonly ClusterDefinition[],
): ClusterDefinition[] {
  const own = new Set(clusters.map(({ id }) => id))
  return all.filter(({ id, dataDir, absent }) => {
    if (own.has(id) || dataDir === undefined || absent === true) return false
    const known = backendAt(database, resolve(dataDir))
    return known !== undefined && hasRoots(database, known.id)
  })
}

function findDirectories(
  database: Database,
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  moved: readonly ClusterDefinition[],
): Found[] {
  const own = placeIfThere(dataDir)
  const byPlace = new Map<string, Found>()
  const take = (id: string, field: 'dataDir' | 'alsoIn', configured: string): void => {
    const path = resolve(configured)
    const place = placeIfThere(path)
    if (path === dataDir || (own !== null && place === own)) {
      throw new HoldfastError('CONFIG_INVALID', `clusters: ${id}.${field} is the data directory of the engine`)
    }
    const refuse: Refuse = reason => {
      throw new HoldfastError('DATA_DIR_UNUSABLE', `clusters: ${id}.${field} ${path} ${reason}`)
    }
    const directory = byPlace.get(place ?? path) ?? newlyFound(database, path, refuse)
    if ([...byPlace.values()].some(other => other !== directory && isSameBackend(other, directory))) {
      refuse('is a copy of another configured directory')
    }
    if (field === 'alsoIn' && directory.backendId === null) refuse(`has no content of this node. ${REMEDY}`)
    byPlace.set(place ?? path, directory)
    directory.namedBy.push(id)
    if (field === 'dataDir') directory.clusterIds.push(id)
  }
  const present = clusters.filter(({ absent }) => absent !== true)
  for (const { id, dataDir: configured } of present) if (configured !== undefined) take(id, 'dataDir', configured)
  for (const { id, alsoIn = [] } of present) for (const path of alsoIn) take(id, 'alsoIn', path)
  for (const { id, dataDir: former } of moved) if (former !== undefined) take(id, 'alsoIn', former)
  return [...byPlace.values()]
}

function newlyFound(database: Database, path: string, refuse: Refuse): Found {
  const identity = readIdentity(path, refuse)
  const backend = identity === null ? null : recognise(database, path, identity, refuse)
  const backendId = backend === null ? recogniseUnmarked(database, path, refuse) : backend.id
  const moved = backend !== null && backend.dataDir !== path ? backend : null
  return { path, backendId, isMarked: identity !== null, moved, clusterIds: [], namedBy: [], refuse }
}

function isSameBackend(one: Found, other: Found): boolean {
  return one.backendId !== null && one.backendId === other.backendId
}

type Refuse = (reason: string) => never

/** Returns the backend whose directory contains this identity file. */
function recognise(database: Database, path: string, identity: string, refuse: Refuse): BackendRow {
  const backend = backendOf(database, identity)
  if (backend === undefined) return refuse(`belongs to another Holdfast, or to an older state of this one. ${REMEDY}`)
  if (backend.dataDir === path) return backend
  // A moved directory is accepted, unless the ledger expects another directory at the new path.
  if (backendAt(database, path) !== undefined)
    return refuse(`is the directory that was at ${backend.dataDir}. ${REMEDY}`)
  return backend
}

/**
 * Returns the backend of a directory without an identity file; null for a new directory. Refuses a known directory
 * whose content is missing.
 */
function recogniseUnmarked(database: Database, path: string, refuse: Refuse): number | null {
  const known = backendAt(database, path)
  const foreign = known === undefined ? foreignContent(path) : null
  if (foreign !== null) return refuse(`has files in ${foreign}/ that no node has marked as its own. ${REMEDY}`)
  if (known === undefined || !hasBlocks(database, known.id)) return known?.id ?? null
  if (known.identity !== null) {
    return refuse(`lacks its file identity, so the content of the cluster is not in it. Is it mounted? ${REMEDY}`)
  }
  if (placeIfThere(join(path, 'blocks')) === null) return refuse(`has no directory blocks. Is it mounted? ${REMEDY}`)
  return known.id
}

async function identify(database: Database, path: string, refuse: Refuse): Promise<number> {
  const known = backendAt(database, path)
  const identity = known?.identity ?? randomUUID()
  // The ledger is updated first. An identity file that is not in the ledger would be refused as foreign.
  const id = known?.id ?? insertBackend(database, path, identity)
  if (known !== undefined && known.identity === null) updateBackend(database, { ...known, identity })
  try {
    makeDirectory(path, OWNERS_DIRECTORY)
    await replaceFile(join(path, IDENTITY), `${identity}\n`)
  } catch (cause) {
    return refuse(unusable(cause))
  }
  return id
}

function unusable(cause: unknown): string {
  return `cannot be used: ${cause instanceof Error ? cause.message : String(cause)}. ${REMEDY}`
}

function readIdentity(path: string, refuse: Refuse): string | null {
  let text: string
  try {
    text = readFileSync(join(path, IDENTITY), 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(fileErrorCode(error) ?? '')) return null
    return refuse(`has a file identity that cannot be read: ${fileErrorCode(error)}`)
  }
  return TEXT.test(text) ? text.trimEnd() : refuse('has a damaged file identity')
}

function placeIfThere(path: string): string | null {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? null : placeOf(path)
}
