import { close, fdatasync, open } from 'node:fs'
import { promisify } from 'node:util'

const fdatasyncOf = promisify(fdatasync)

/** Syncs the log of a database in libuv's thread pool. The creator closes this object before the database. */
export class LogSync {
  readonly #file: string
  readonly #opened: number[] = []
  /**
   * Unused descriptors. Each concurrent sync needs its own, because the kernel reports a failed write once per
   * descriptor.
   */
  readonly #idle: number[] = []

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}-wal`
  }

  /** @throws the error of `node:fs`, after which any commit since the last successful sync may be lost */
  async run(): Promise<void> {
    // The descriptors stay valid, because SQLite reuses the same log file while the database is open.
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
