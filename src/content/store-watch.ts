import { join } from 'node:path'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { type FileSystem, fileErrorCode } from '../domain/file-system.ts'

/** Problem text. If the inode or the device has changed, the node rejects the directory until the node restarts. */
const REPLACED = 'has been replaced; restart the node if it is the right one'

/** Name of the file that a check writes. After a crash the file may remain, and the next check replaces it. */
export const PROBE = '.probe'

/** Checks that the directory of a backend's blocks is still the one that was opened, and that it accepts new files. */
export class StoreWatch {
  /** Problem that the last check found, as a predicate such as `is gone`. Null if there was no problem. */
  problem: string | null = null
  readonly #files: FileSystem
  readonly #blocks: string
  readonly #temp: string
  #place: string | null = null
  #looking: Promise<string | null> | null = null

  constructor(files: FileSystem, dataDir: string) {
    this.#files = files
    this.#blocks = join(dataDir, 'blocks')
    this.#temp = join(dataDir, 'tmp')
  }

  /** Records the identity of the open directory, with which later checks compare. */
  async begin(): Promise<void> {
    this.#place = (await this.#files.place?.(this.#blocks)) ?? null
  }

  /** Checks the directory now and returns {@link problem}. Concurrent calls share one check. */
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
      // Ignore a full disk, because the disk reserve reports it. A shortage of file handles does not change the
      // problem.
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

  /** Creates a file in the same way as a block: in `tmp/`, then renamed. */
  async #tryWriting(): Promise<void> {
    const [from, to] = [join(this.#temp, PROBE), join(this.#blocks, PROBE)]
    // A check that a crash interrupted may have left the file.
    await this.#remove(from)
    const file = await this.#files.create(from)
    await file.close()
    try {
      await this.#files.rename(from, to)
    } catch (error) {
      await this.#files.unlink(from).catch(() => undefined)
      throw error
    }
    // The collector may already have removed the file, because the file has no row.
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
