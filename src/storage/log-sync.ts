import { close, fdatasync, open } from 'node:fs'
import { promisify } from 'node:util'

/**
 * Syncs the log of a database in libuv's pool, so that the event loop does not wait for the disk: what has been committed
 * by then survives a power cut. Whoever makes this closes it, before the database.
 */
export class LogSync {
  readonly #file: string
  #opened: Promise<number> | null = null

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
    this.#opened ??= promisify(open)(this.#file, 'r+')
    await promisify(fdatasync)(await this.#opened)
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => null)
    if (typeof opened === 'number') await promisify(close)(opened)
  }
}
