import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { HoldfastError } from '../../domain/errors.ts'
import { fileErrorCode } from '../../domain/file-system.ts'
import type { TakenDown } from './admission.ts'
import { Denylist } from './denylist.ts'
import { readPublished } from './takedown-file.ts'
import { completeLines } from './takedown-lines.ts'

interface Known {
  published: bigint
  denylist: Denylist
  /** Number of bytes of the file that the list already contains. */
  length: number
  inode: bigint | null
}

/**
 * Takedowns in a thread without the {@link Takedowns} object. Reads new lines of the file when the published value
 * changes.
 */
export class SharedTakedowns implements TakenDown {
  readonly #path: string
  readonly #published: BigInt64Array
  #known: Known | null = null

  /** @param published shared memory of {@link Takedowns.published} */
  constructor(path: string, published: BigInt64Array) {
    this.#path = path
    this.#published = published
  }

  /** @throws HoldfastError `UNAVAILABLE` while the file is unreadable: without the check, no content may be served */
  get denylist(): Denylist {
    const published = Atomics.load(this.#published, 0)
    if (this.#known?.published !== published) this.#known = this.#read(published)
    return this.#known.denylist
  }

  #read(published: bigint): Known {
    let file: number | null = null
    try {
      file = openSync(this.#path, 'r')
      return this.#readEnd(file, published) ?? readWhole(file, published)
    } catch (cause) {
      if (fileErrorCode(cause) === 'ENOENT') return { published, denylist: new Denylist(''), length: 0, inode: null }
      throw new HoldfastError('UNAVAILABLE', 'the node cannot read its takedowns', { cause })
    } finally {
      if (file !== null) closeSync(file)
    }
  }

  /**
   * Adds the new lines of the file to the known list. Returns null if the file was replaced, which requires reading the
   * whole file.
   */
  #readEnd(file: number, published: bigint): Known | null {
    const known = this.#known
    const { replacements, length } = readPublished(published)
    if (known === null || readPublished(known.published).replacements !== replacements) return null
    // The file on disk may be a newer replacement, which is not published yet.
    if (inodeOf(file) !== known.inode) return null
    const bytes = Buffer.alloc(Math.max(0, length - known.length))
    if (readSync(file, bytes, 0, bytes.length, known.length) < bytes.length) return null
    known.denylist.append(bytes.toString())
    return { ...known, published, length: Math.max(length, known.length) }
  }
}

function readWhole(file: number, published: bigint): Known {
  const text = completeLines(readFileSync(file, 'utf8'))
  return {
    published,
    denylist: new Denylist(text, { lifts: true }),
    length: Buffer.byteLength(text),
    inode: inodeOf(file),
  }
}

function inodeOf(file: number): bigint {
  return fstatSync(file, { bigint: true }).ino
}
