import { join } from 'node:path'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { type FileSystem, fileErrorCode } from '../domain/file-system.ts'

/** A directory of blocks with another inode or device is never accepted for the opened one. */
const REPLACED = 'has been replaced; restart the node if it is the right one'

/** Name of the file that a check writes. A crash leaves at most one, which the next check replaces. */
export const PROBE = '.probe'

/** Checks that the directory of a backend's blocks is still the opened one, and accepts new files. */
export class StoreWatch {
  /**
   * Problem found by the last check, as a predicate without paths; null if it found none. A field, since each chunk
   * reads it.
   */
  problem: string | null = null
  readonly #files: FileSystem
  readonly #blocks: string
  readonly #temp: string
  #place: string | null = null
  #looking: Promise<string | null> | null = null

  /** @param dataDir has `blocks/` and `tmp/` */
  constructor(files: FileSystem, dataDir: string) {
    this.#files = files
    this.#blocks = join(dataDir, 'blocks')
    this.#temp = join(dataDir, 'tmp')
  }

  /** Stores the identity of the directory. Call it once the directory is open. */
  async begin(): Promise<void> {
    this.#place = (await this.#files.place?.(this.#blocks)) ?? null
  }

  /** Checks now. Returns {@link problem}. Concurrent calls share one check. */
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
      // Other code reports a full disk, and a shortage of descriptors says nothing about the directory.
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

  /** Creates a file as a block is written: in `tmp/`, then renamed. */
  async #tryWriting(): Promise<void> {
    const [from, to] = [join(this.#temp, PROBE), join(this.#blocks, PROBE)]
    // A check before a crash may have left one.
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
