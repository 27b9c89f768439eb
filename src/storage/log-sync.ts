import { close, fdatasync, open } from 'node:fs'
import { promisify } from 'node:util'

const fdatasyncOf = promisify(fdatasync)

/**
 * Syncs the log of a database in libuv's pool, so that the event loop does not wait for the disk: what has been committed
 * by then survives a power cut. Whoever makes this closes it, before the database.
 */
export class LogSync {
  readonly #file: string
  readonly #opened: number[] = []
  /** Two syncs at a time are told of a failure each only by a file opened for each. */
  readonly #idle: number[] = []

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}-wal`
  }

  /**
   * Resolves when all commits up to now are on the disk.
   *
   * @throws the error of `node:fs`: after it nothing is known of any commit since the last success
   */
  async run(): Promise<void> {
    // SQLite writes one file from the start again and again, as long as the database is open.
    const fd = this.#idle.pop() ?? (await this.#open())
    await fdatasyncOf(fd)
    this.#idle.push(fd)
  }

  async close(): Promise<void> {
    for (const fd of this.#opened.splice(0)) await promisify(close)(fd)
  }

  async #open(): Promise<number> {
    const fd = await promisify(open)(this.#file, 'r+')
    this.#opened.push(fd)
    return fd
  }
}
