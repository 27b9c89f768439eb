import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { LevelDatastore } from 'datastore-level'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { Logger } from '../domain/logger.ts'
import { DATABASE, RESTORING } from './file-names.ts'
import { isLocked, LevelFiles } from './level-files.ts'
import { makeDirectory } from './make-directory.ts'
import { OWNERS_DIRECTORY } from './node-file-system.ts'

/**
 * Key of the set of directories that engines of this process own, as "device:inode". All copies of this module share
 * the set.
 */
const OWNED = Symbol.for('holdfast.ownedDirectories')
const shared = globalThis as { [OWNED]?: Set<string> }
shared[OWNED] ??= new Set()
const owned = shared[OWNED]

export interface OwnedDirectory {
  datastore: LevelDatastore
  close(): Promise<void>
}

/** Returns "device:inode", which is the same for all paths of a directory. @throws the error of the file system */
export function placeOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true })
  return `${dev}:${ino}`
}

/** Returns a text that is another one for a copy of the file, even at the same path. */
export function birthOf(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${ino}:${birthtimeNs}`
}

/**
 * Rejects a data directory with a restore that is running or was killed.
 * @throws HoldfastError `DATA_DIR_UNUSABLE`
 */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, RESTORING)) || existsSync(join(dataDir, DATABASE))) return
  const remedy = 'wait until it ends, or repeat "holdfast restore" into the same directory'
  throw new HoldfastError('DATA_DIR_UNUSABLE', `${dataDir} has an unfinished restore (${RESTORING}): ${remedy}`)
}

/**
 * Rejects a directory without a database that has content of a node or of another program. The engine would delete
 * such files, because its database does not list them.
 * @throws HoldfastError `DATA_DIR_UNUSABLE`
 */
export function refuseContentWithoutDatabase(dataDir: string): void {
  if (existsSync(join(dataDir, DATABASE))) return
  const found = foreignContent(dataDir)
  if (found === null) return
  const remedy = 'check the path, mount the disk of the node, or restore a backup; a new node needs an empty directory'
  throw new HoldfastError('DATA_DIR_UNUSABLE', `${dataDir} has files in ${found}/, but no ${DATABASE}: ${remedy}`)
}

/** Returns which of the directories `blocks` and `tmp` has files; null if neither has any. */
export function foreignContent(directory: string): 'blocks' | 'tmp' | null {
  if (entriesOf(join(directory, 'tmp')).length > 0) return 'tmp'
  const blocks = join(directory, 'blocks')
  const hasFiles = entriesOf(blocks).some(
    entry => !entry.isDirectory() || entriesOf(join(blocks, entry.name)).length > 0,
  )
  return hasFiles ? 'blocks' : null
}

/** Returns no entries for a missing directory, and for a file, which the engine refuses later. */
function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(fileErrorCode(error) ?? '')) return []
    throw error
  }
}

/** Maximum time to wait for the previous owner, and time between two attempts. */
const HANDOVER_MS = 5_000
const RETRY_MS = 100

/**
 * Takes ownership of a data directory, which the caller closes. The lock is that of LevelDB on `datastore/`, which the
 * kernel releases when the process ends.
 * @param options.isRestoring true if the caller is the unfinished restore itself
 * @throws HoldfastError `DATA_DIR_IN_USE` if another engine still owns the directory after 5 s; `DATA_DIR_UNUSABLE` if
 * the directory cannot be created or written, or has an unfinished restore
 */
export async function ownDataDirectory(
  dataDir: string,
  logger: Logger,
  { isRestoring = false }: { isRestoring?: boolean } = {},
): Promise<OwnedDirectory> {
  const path = join(dataDir, 'datastore')
  const refuse = (): void => (isRestoring ? undefined : refuseUnfinishedRestore(dataDir))
  refuse()
  try {
    makeDirectory(dataDir, OWNERS_DIRECTORY)
    makeDirectory(path, OWNERS_DIRECTORY)
  } catch (cause) {
    throw directoryUnusable(dataDir, cause)
  }
  const place = placeOf(dataDir)
  const store = new LevelFiles(path, logger)
  for (let waited = 0; ; waited += RETRY_MS) {
    if (owned.has(place)) {
      if (waited >= HANDOVER_MS) {
        throw new HoldfastError(
          'DATA_DIR_IN_USE',
          `${dataDir} is in use by another Holdfast in this process: stop it first`,
        )
      }
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      continue
    }
    // Add the directory before the first await. Within this process, LevelDB's lock detects a second engine only if
    // both engines use the same path.
    owned.add(place)
    try {
      const datastore = await store.open()
      const close = async (): Promise<void> => {
        await datastore.close().finally(() => owned.delete(place))
      }
      try {
        // A restore may have started, and may have been killed, while this call waited.
        refuse()
        return { datastore, close }
      } catch (error) {
        await close()
        throw error
      }
    } catch (cause) {
      owned.delete(place)
      if (isHoldfastError(cause)) throw cause
      if (!isLocked(cause)) throw directoryUnusable(dataDir, cause)
      if (waited >= HANDOVER_MS) {
        throw new HoldfastError('DATA_DIR_IN_USE', `${dataDir} is in use by another running Holdfast: stop it first`, {
          cause,
        })
      }
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_MS))
  }
}

export function directoryUnusable(dataDir: string, cause: unknown): HoldfastError {
  const deepest = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const reason = deepest instanceof Error ? deepest.message : String(deepest)
  return new HoldfastError('DATA_DIR_UNUSABLE', `data directory ${dataDir} cannot be used: ${reason}`, { cause })
}
