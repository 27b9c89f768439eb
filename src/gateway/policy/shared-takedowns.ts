import { readFileSync } from 'node:fs'
import { HoldfastError } from '../../domain/errors.ts'
import { fileErrorCode } from '../../domain/file-system.ts'
import type { TakenDown } from './admission.ts'
import { Denylist } from './denylist.ts'

/** What has been taken down, as another thread than that of {@link Takedowns} has it: as soon as that says so. */
export class SharedTakedowns implements TakenDown {
  readonly #path: string
  readonly #revision: Int32Array
  #known: { revision: number; denylist: Denylist } | null = null

  /** @param revision of the {@link Takedowns} that are kept in the file */
  constructor(path: string, revision: Int32Array) {
    this.#path = path
    this.#revision = revision
  }

  /** @throws HoldfastError `UNAVAILABLE` while the file cannot be read: nothing is served unchecked. */
  get denylist(): Denylist {
    const revision = Atomics.load(this.#revision, 0)
    if (this.#known?.revision !== revision) this.#known = { revision, denylist: new Denylist(this.#read()) }
    return this.#known.denylist
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (cause) {
      if (fileErrorCode(cause) === 'ENOENT') return ''
      throw new HoldfastError('UNAVAILABLE', 'what is taken down cannot be read', { cause })
    }
  }
}
