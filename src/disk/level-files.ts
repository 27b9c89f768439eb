import { randomUUID } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import type { Logger } from '../domain/logger.ts'
import { QUARANTINE } from './file-names.ts'
import { makeDirectory } from './make-directory.ts'
import { OWNERS_DIRECTORY, syncDirectoryNow } from './node-file-system.ts'

/** What LevelDB keeps what it stores in, and names the list of in `CURRENT`. */
const KEPT = /^(\d+\.(ldb|sst|log)|MANIFEST-\d+)$/
/** How LevelDB's errors end of a file that is not there, or is no file; the last is of the list itself. */
const NO_FILE = /(No such file or directory|Is a directory|Not a directory|\(create_if_missing is false\))$/

/**
 * The LevelDB datastore of a data directory, of which a power cut, or somebody, may have taken files. What its list of
 * files lacks is listed anew; what cannot be read even then is set aside beside it, and it begins empty: it has
 * the identity of the node in the network, and else only what is found again.
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

  /** The caller closes it. @throws the error of LevelDB, {@link isLocked} while another process has it open */
  async open(): Promise<LevelDatastore> {
    const datastore = new LevelDatastore(this.#path)
    try {
      // Where only the list is gone, LevelDB would begin anew and remove what is there.
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
    return !names.includes('CURRENT') && names.some(name => KEPT.test(name))
  }

  /** Has LevelDB list its files anew; it keeps what it cannot use in `lost/`. To be called while nobody has it open. */
  async #repair({ db }: LevelDatastore): Promise<void> {
    const { constructor: level } = db
    try {
      if ('repair' in level && typeof level.repair === 'function') await level.repair(this.#path)
      this.#isRepaired = true
      this.#logger.warn(
        { datastore: this.#path },
        'the list of files of the datastore was damaged and has been made anew',
      )
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
      'the datastore cannot be read and has been set aside; the node gets a new identity in the network',
    )
  }
}

/** Whether another process, or another engine of this one, has it open. */
export function isLocked(error: unknown): boolean {
  return deepest(error).code === 'LEVEL_LOCKED'
}

/** Files that are empty, wrong or gone; not those that the system does not let be read or written. */
function isDamaged(error: unknown): boolean {
  const { code, message } = deepest(error)
  return code === 'LEVEL_CORRUPTION' || NO_FILE.test(message)
}

function deepest(error: unknown): { code: unknown; message: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return { code: undefined, message: '' }
  return { code: 'code' in cause ? cause.code : undefined, message: cause.message }
}
