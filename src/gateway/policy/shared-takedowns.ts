import { readFileSync } from 'node:fs'
import { HoldfastError } from '../../domain/errors.ts'
import { fileErrorCode } from '../../domain/file-system.ts'
import type { TakenDown } from './admission.ts'
import { Denylist } from './denylist.ts'

/** The takedowns in another thread than {@link Takedowns}. It rereads the file whenever the shared revision changes. */
export class SharedTakedowns implements TakenDown {
  readonly #path: string
  readonly #revision: Int32Array
  #known: { revision: number; denylist: Denylist } | null = null

  /** @param revision that of the {@link Takedowns} that write the file */
  constructor(path: string, revision: Int32Array) {
    this.#path = path
    this.#revision = revision
  }

  /** @throws HoldfastError `UNAVAILABLE` while the file is unreadable, because nothing may be served unchecked */
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
      throw new HoldfastError('UNAVAILABLE', 'the node cannot read its takedowns', { cause })
    }
  }
}
