import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../domain/logger.ts'
import { BALLAST, DATA_KEY, DATABASE, SECRETS, TAKEDOWNS } from './file-names.ts'
import { OWNERS_DIRECTORY, OWNERS_FILE, othersMayUse } from './node-file-system.ts'

/** What the stores of a data directory are kept in. What lies below a directory is closed with it. */
const DIRECTORIES = ['datastore', 'blocks', 'tmp', 'quarantine']
const FILES = [BALLAST, SECRETS, TAKEDOWNS, DATA_KEY]

/**
 * Takes from all other users what a data directory keeps: password hashes, content, keys. The directory itself is
 * left as it was found, since they may be meant to reach `import/` through it; that they can read it is logged.
 */
export function keepToOwner(dataDir: string, logger: Logger): void {
  for (const name of readdirSync(dataDir)) {
    // What belongs to the database, and copies of it, are called after it.
    const isOurs = FILES.includes(name) || name.startsWith(DATABASE)
    if (DIRECTORIES.includes(name)) restrict(join(dataDir, name), OWNERS_DIRECTORY, logger)
    else if (isOurs) restrict(join(dataDir, name), OWNERS_FILE, logger)
  }
  if (!othersMayUse(statSync(dataDir))) return
  const mend = `"chmod 700 ${dataDir}" keeps them out; whoever fills its import folder as another user then needs a root elsewhere (importRoots)`
  logger.warn({ dataDir }, `other users of this machine can read the data directory: ${mend}`)
}

function restrict(path: string, mode: number, logger: Logger): void {
  try {
    chmodSync(path, mode)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    logger.warn({ err: error, path }, 'the permissions of a store cannot be set; see to it that nobody else reads it')
  }
}
