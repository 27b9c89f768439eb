import { readFile, stat } from 'node:fs/promises'
import { textOfBytes } from '../../domain/byte-text.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import { Denylist } from './denylist.ts'

const RECHECK_MS = 1_000

/** A denylist file that is reloaded after changes. If the new file is unreadable, the previous list stays in force. */
export class DenylistFile {
  readonly #path: string
  readonly #clock: Clock
  readonly #logger: Logger
  #list: Denylist | null = null
  #version = ''
  #checkedAt = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | null = null

  constructor(path: string, clock: Clock, logger: Logger) {
    this.#path = path
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Returns the current list.
   *
   * @throws HoldfastError `UNAVAILABLE` if the file has never been readable: without the check, no content may be
   * served
   */
  async current(): Promise<Denylist> {
    if (this.#clock.now() - this.#checkedAt >= RECHECK_MS) {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = null
      })
    }
    if (this.#checking !== null) await this.#checking
    if (this.#list === null) throw new HoldfastError('UNAVAILABLE', 'the node cannot read its denylist')
    return this.#list
  }

  async #check(): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#path)
      const version = `${mtimeMs} ${size} ${ino}`
      if (version !== this.#version) {
        const list = new Denylist(textOfBytes(await readFile(this.#path)))
        this.#list = list
        this.#version = version
        this.#logger.info({ path: this.#path, rules: list.size }, 'denylist read')
        if (list.rejected.length > 0) {
          this.#logger.warn({ path: this.#path, lines: list.rejected.slice(0, 100) }, 'denylist has unreadable lines')
        }
      }
    } catch (error) {
      this.#logger.error({ path: this.#path, err: error }, 'cannot read the denylist')
    } finally {
      this.#checkedAt = this.#clock.now()
    }
  }
}
