import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../domain/logger.ts'
import { BALLAST, DATA_KEY, DATABASE, SECRETS, TAKEDOWNS } from './file-names.ts'
import { OWNERS_DIRECTORY, OWNERS_FILE, othersMayUse } from './node-file-system.ts'

/** Subdirectories that are restricted to the owner, which also protects everything inside them. */
const DIRECTORIES = ['datastore', 'blocks', 'tmp', 'quarantine']
const FILES = [BALLAST, SECRETS, TAKEDOWNS, DATA_KEY]

/**
 * Restricts password hashes, content and keys to the owner. Only logs a warning if other users can read the data
 * directory itself, because they may need access to `import/`.
 */
export function keepToOwner(dataDir: string, logger: Logger): void {
  for (const name of readdirSync(dataDir)) {
    // The database's log and its copies have names that start with the database's name.
    const isOurs = FILES.includes(name) || name.startsWith(DATABASE)
    if (DIRECTORIES.includes(name)) restrict(join(dataDir, name), OWNERS_DIRECTORY, logger)
    else if (isOurs) restrict(join(dataDir, name), OWNERS_FILE, logger)
  }
  if (!othersMayUse(statSync(dataDir))) return
  const remedy = `run "chmod 700 ${dataDir}"; if another user fills its import folder, add a folder outside it to importRoots`
  logger.warn({ dataDir }, `other users of this machine can read the data directory: ${remedy}`)
}

function restrict(path: string, mode: number, logger: Logger): void {
  try {
    chmodSync(path, mode)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    logger.warn({ err: error, path }, 'cannot set the permissions of a store; make sure that no other user can read it')
  }
}
