import { join } from 'node:path'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { type FileSystem, fileErrorCode } from '../domain/file-system.ts'

/** Directories of blocks whose inode or device differs are never taken for the one that was opened. */
const REPLACED = 'has been replaced; restart the node if it is the right one'

/** The file by which a look tries to write. A crash leaves one at most, which the next look replaces. */
export const PROBE = '.probe'

/** Looks whether the directory of a backend's blocks is still the one that was opened, and takes new files. */
export class StoreWatch {
  /** The fault found by the last look, as a predicate without paths; null if it found none. A field, since each chunk reads it. */
  problem: string | null = null
  readonly #files: FileSystem
  readonly #blocks: string
  readonly #temp: string
  #place: string | null = null
  #looking: Promise<string | null> | null = null

  /** @param dataDir holds `blocks/` and `tmp/` */
  constructor(files: FileSystem, dataDir: string) {
    this.#files = files
    this.#blocks = join(dataDir, 'blocks')
    this.#temp = join(dataDir, 'tmp')
  }

  /** Notes which directory it is. To be called once it is open. */
  async begin(): Promise<void> {
    this.#place = (await this.#files.place?.(this.#blocks)) ?? null
  }

  /** Looks now. Returns {@link problem}. Calls during a look share it. */
  look(): Promise<string | null> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<string | null> {
    try {
      this.problem = await this.#find()
    } catch (error) {
      // A full disk is told of as such, and a shortage of descriptors says nothing of the directory.
      const trouble = diskTrouble(error)
      const code = fileErrorCode(error) ?? 'unknown error'
      if (trouble === 'full') this.problem = null
      else if (['ENOENT', 'ENOTDIR'].includes(code)) this.problem = 'is gone'
      else if (trouble !== 'short') this.problem = `cannot be written (${code})`
    }
    return this.problem
  }

  async #find(): Promise<string | null> {
    const place = (await this.#files.place?.(this.#blocks)) ?? null
    if (place !== this.#place) return REPLACED
    await this.#tryWriting()
    return null
  }

  /** Writes as a block is written: a file that comes from `tmp/`. */
  async #tryWriting(): Promise<void> {
    const [from, to] = [join(this.#temp, PROBE), join(this.#blocks, PROBE)]
    // A look before a crash may have left one.
    await this.#remove(from)
    const file = await this.#files.create(from)
    await file.close()
    try {
      await this.#files.rename(from, to)
    } catch (error) {
      await this.#files.unlink(from).catch(() => undefined)
      throw error
    }
    // The collector may have removed it as a file without a row.
    await this.#remove(to)
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#files.unlink(path)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT') throw error
    }
  }
}
