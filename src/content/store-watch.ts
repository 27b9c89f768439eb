import { join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { type FileSystem, fileErrorCode } from '../domain/file-system.ts'

/** Problem text. If the inode or the device has changed, the node rejects the directory until the node restarts. */
const REPLACED = 'has been replaced; restart the node if it is the right one'

const GONE = 'is gone'

/** Interval of the checks. They write nothing while there is no problem. */
const CHECK_MS = 1_000

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
  #checking: Promise<unknown> | null = null
  #cancelTimer: (() => void) | null = null
  #isStopped = false

  constructor(files: FileSystem, dataDir: string) {
    this.#files = files
    this.#blocks = join(dataDir, 'blocks')
    this.#temp = join(dataDir, 'tmp')
  }

  /** Records the identity of the open directory, with which later checks compare. */
  async begin(): Promise<void> {
    this.#place = (await this.#files.place?.(this.#blocks)) ?? null
  }

  /** True if the blocks cannot be read, either. */
  get isGone(): boolean {
    return this.problem === GONE || this.problem === REPLACED
  }

  /** Checks the directory every second, until {@link stop}. Tries to write only to see the end of a problem. */
  start(clock: Clock): void {
    if (this.#isStopped) return
    this.#cancelTimer = clock.after(CHECK_MS, () => {
      this.#checking = (this.problem === null ? this.#glance() : this.look()).finally(() => this.start(clock))
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer?.()
    await this.#checking
  }

  /** Checks the directory now and returns {@link problem}. Concurrent calls share one check. */
  look(): Promise<string | null> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<string | null> {
    this.problem = await this.#found(async () => (await this.#findPlace()) ?? (await this.#tryWriting()))
    return this.problem
  }

  /** Looks for a problem without writing. Never clears a known problem, because only a write shows that it is over. */
  async #glance(): Promise<string | null> {
    this.problem = (await this.#found(() => this.#findPlace())) ?? this.problem
    return this.problem
  }

  async #found(find: () => Promise<string | null>): Promise<string | null> {
    try {
      return await find()
    } catch (error) {
      // Ignore a full disk, because the disk reserve reports it. A shortage of file handles does not change the
      // problem.
      const trouble = diskTrouble(error)
      const code = fileErrorCode(error) ?? 'unknown error'
      if (trouble === 'full') return null
      if (trouble === 'short') return this.problem
      return ['ENOENT', 'ENOTDIR'].includes(code) ? GONE : `cannot be written (${code})`
    }
  }

  async #findPlace(): Promise<string | null> {
    const place = (await this.#files.place?.(this.#blocks)) ?? null
    return place === this.#place ? null : REPLACED
  }

  /** Creates a file in the same way as a block: in `tmp/`, then renamed. Always returns null. */
  async #tryWriting(): Promise<null> {
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
    return null
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#files.unlink(path)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT') throw error
    }
  }
}
