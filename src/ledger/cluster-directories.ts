import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { placeOf } from '../disk/data-directory.ts'
import { OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { replaceFile } from '../disk/replace-file.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { Database } from '../storage/database.ts'
import { backendAt, backendOf, hasBlocks, insertBackend, updateBackend } from './backend-table.ts'

/** The file in the data directory of a cluster that says which one it is. */
const IDENTITY = 'identity'
const TEXT = /^[0-9a-f-]{36}\n?$/

/** The data directory of one cluster or, under whatever names, of several. */
export interface ClusterDirectory {
  path: string
  backendId: number
  clusterIds: string[]
}

/**
 * Recognises the data directories of clusters, by place and not by name, and makes those that are new. Each has a file
 * that says which it is: one that is not mounted, was moved away or is another's is never taken for an empty one.
 *
 * @throws HoldfastError `CONFIG_INVALID` for the engine's own directory, `DATA_DIR_UNUSABLE` naming the cluster and
 * the directory.
 */
export async function clusterDirectories(
  database: Database,
  dataDir: string,
  clusters: readonly ClusterDefinition[],
): Promise<ClusterDirectory[]> {
  const own = placeOf(dataDir)
  const byPlace = new Map<string, ClusterDirectory>()
  for (const { id, dataDir: configured } of clusters) {
    if (configured === undefined) continue
    const path = resolve(configured)
    if (path === dataDir || placeIfThere(path) === own) {
      throw new HoldfastError('CONFIG_INVALID', `clusters: ${id}.dataDir is the engine's own`)
    }
    const known = byPlace.get(placeIfThere(path) ?? '')
    if (known !== undefined) {
      known.clusterIds.push(id)
      continue
    }
    const backendId = await recognise(database, path, reason => {
      throw new HoldfastError('DATA_DIR_UNUSABLE', `clusters: ${id}.dataDir ${path} ${reason}`)
    })
    if ([...byPlace.values()].some(other => other.backendId === backendId)) {
      throw new HoldfastError('DATA_DIR_UNUSABLE', `clusters: ${id}.dataDir ${path} is a copy of another one's`)
    }
    byPlace.set(placeOf(path), { path, backendId, clusterIds: [id] })
  }
  return [...byPlace.values()]
}

type Refuse = (reason: string) => never

/** Returns the number of the backend whose directory this is. */
async function recognise(database: Database, path: string, refuse: Refuse): Promise<number> {
  const identity = readIdentity(path, refuse)
  if (identity === null) return identify(database, path, refuse)
  const backend = backendOf(database, identity)
  if (backend === undefined) return refuse('belongs to another Holdfast, or to an older state of this one')
  if (backend.dataDir === path) return backend.id
  // It has been moved, which is fine as long as nothing else is expected here.
  if (backendAt(database, path) !== undefined) return refuse(`is the one that was at ${backend.dataDir}`)
  updateBackend(database, { ...backend, dataDir: path })
  return backend.id
}

/** Gives a directory without identity one, unless content is expected in it. */
async function identify(database: Database, path: string, refuse: Refuse): Promise<number> {
  const known = backendAt(database, path)
  if (known !== undefined && hasBlocks(database, known.id)) {
    const hadIdentity = known.identity !== null
    if (hadIdentity) return refuse('is not the one with its content: its file identity is missing. Is it mounted?')
    if (placeIfThere(join(path, 'blocks')) === null) return refuse('has no blocks in it. Is it mounted?')
  }
  const identity = known?.identity ?? randomUUID()
  // The ledger first: a file that no ledger knows would be taken for another's.
  const id = known?.id ?? insertBackend(database, path, identity)
  if (known !== undefined && known.identity === null) updateBackend(database, { ...known, identity })
  try {
    makeDirectory(path, OWNERS_DIRECTORY)
    await replaceFile(join(path, IDENTITY), `${identity}\n`)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('DATA_DIR_UNUSABLE', `data directory ${path} cannot be used: ${reason}`, { cause })
  }
  return id
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
