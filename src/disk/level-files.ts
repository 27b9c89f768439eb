import { randomUUID } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import type { Logger } from '../domain/logger.ts'
import { QUARANTINE } from './file-names.ts'
import { makeDirectory } from './make-directory.ts'
import { OWNERS_DIRECTORY, syncDirectoryNow } from './node-file-system.ts'

/** Names of the files that hold LevelDB's data. `CURRENT` names the manifest, which lists them. */
const DATA_FILE = /^(\d+\.(ldb|sst|log)|MANIFEST-\d+)$/
/**
 * Endings of LevelDB's errors for a missing file or a wrong file type. The last one means that `CURRENT` is missing.
 */
const NO_FILE = /(No such file or directory|Is a directory|Not a directory|\(create_if_missing is false\))$/

/**
 * The LevelDB datastore of a data directory. After a power cut, files may be missing or damaged. LevelDB first repairs
 * its list of files. If the datastore still cannot be read, it moves to quarantine and an empty one replaces it. The
 * datastore holds the identity of the node in the network; everything else in it can be found again.
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
   * Opens the datastore; the caller closes it.
   *
   * @throws the error of LevelDB, {@link isLocked} while another owner has it
   */
  async open(): Promise<LevelDatastore> {
    const datastore = new LevelDatastore(this.#path)
    try {
      // If only the list is missing, LevelDB would start an empty database and delete the files.
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

  /** Has LevelDB rebuild its list of files; it moves unusable files to `lost/`. Nobody may have the datastore open. */
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

/** Returns true if another process, or another engine of this process, has the datastore open. */
export function isLocked(error: unknown): boolean {
  return deepest(error).code === 'LEVEL_LOCKED'
}

/** Returns true for empty, wrong or missing files, and false for files that the system refuses to read or write. */
function isDamaged(error: unknown): boolean {
  const { code, message } = deepest(error)
  return code === 'LEVEL_CORRUPTION' || NO_FILE.test(message)
}

function deepest(error: unknown): { code: unknown; message: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return { code: undefined, message: '' }
  return { code: 'code' in cause ? cause.code : undefined, message: cause.message }
}
