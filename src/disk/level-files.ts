import { randomUUID } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import type { Logger } from '../domain/logger.ts'
import { QUARANTINE } from './file-names.ts'
import { makeDirectory } from './make-directory.ts'
import { OWNERS_DIRECTORY, syncDirectoryNow } from './node-file-system.ts'

/** LevelDB's data files. The file `CURRENT` names the manifest, which lists all data files. */
const DATA_FILE = /^(\d+\.(ldb|sst|log)|MANIFEST-\d+)$/
/**
 * Endings of LevelDB's error messages for a missing file or a wrong file type. The last ending means that `CURRENT` is
 * missing.
 */
const NO_FILE = /(No such file or directory|Is a directory|Not a directory|\(create_if_missing is false\))$/

/**
 * Opens the LevelDB datastore of a data directory, even if a power cut has damaged it. First, LevelDB repairs its list
 * of files. If the datastore is still unreadable, the node moves it to quarantine and creates an empty datastore. The
 * node then gets a new identity in the network, and can find all other content of the datastore again.
 */
export class LevelFiles {
  readonly #path: string
  readonly #logger: Logger
  #isRepaired = false
  #isNew = false

  constructor(path: string, logger: Logger) {
    this.#path = path
    this.#logger = logger
  }

  /**
   * Opens the datastore, which the caller closes.
   * @throws the error of LevelDB; {@link isLocked} recognises that another owner has the datastore open
   */
  async open(): Promise<LevelDatastore> {
    const datastore = new LevelDatastore(this.#path)
    try {
      // Fail if only the list of files is missing. LevelDB would otherwise start an empty database and delete the data
      // files.
      await datastore.db.open({ createIfMissing: !this.#lacksList() })
      return datastore
    } catch (error) {
      await datastore.close().catch(() => undefined)
      if (!isDamaged(error) || this.#isNew) throw error
      if (this.#isRepaired) this.#setAside(error)
      else await this.#repair(datastore)
      return this.open()
    }
  }

  #lacksList(): boolean {
    const names = readdirSync(this.#path)
    return !names.includes('CURRENT') && names.some(name => DATA_FILE.test(name))
  }

  /** Makes LevelDB rebuild its list of files. LevelDB moves unusable files to `lost/`. The datastore must be closed. */
  async #repair({ db }: LevelDatastore): Promise<void> {
    const { constructor: level } = db
    try {
      if ('repair' in level && typeof level.repair === 'function') await level.repair(this.#path)
      this.#isRepaired = true
      this.#logger.warn({ datastore: this.#path }, 'repaired the damaged list of files of the datastore')
    } catch (error) {
      if (!isDamaged(error)) throw error
      this.#setAside(error)
    }
  }

  #setAside(error: unknown): void {
    const dataDir = dirname(this.#path)
    const aside = join(dataDir, QUARANTINE, `datastore-${randomUUID()}`)
    makeDirectory(dirname(aside), OWNERS_DIRECTORY)
    renameSync(this.#path, aside)
    makeDirectory(this.#path, OWNERS_DIRECTORY)
    syncDirectoryNow(dirname(aside))
    syncDirectoryNow(dataDir)
    this.#isRepaired = true
    this.#isNew = true
    this.#logger.error(
      { err: error, datastore: aside },
      'moved the unreadable datastore to quarantine; the node gets a new identity in the network',
    )
  }
}

/** Returns whether the error says that another process or engine has the datastore open. */
export function isLocked(error: unknown): boolean {
  return deepest(error).code === 'LEVEL_LOCKED'
}

/** Returns whether files are empty, wrong or missing. A permission error is not damage. */
function isDamaged(error: unknown): boolean {
  const { code, message } = deepest(error)
  return code === 'LEVEL_CORRUPTION' || NO_FILE.test(message)
}

function deepest(error: unknown): { code: unknown; message: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return { code: undefined, message: '' }
  return { code: 'code' in cause ? cause.code : undefined, message: cause.message }
}
