import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../disk/replace-file.ts'
import type { FileSystem } from '../../domain/file-system.ts'

/** Bits of {@link TakedownFile.published} for the length of the file. */
const LENGTH_BITS = 40n

/** Writes the file of takedowns, and publishes to other threads how much of it applies. */
export class TakedownFile {
  readonly #path: string
  readonly #files: FileSystem
  /**
   * The length that applies, and above its bits the number of replacements of the file. A thread reads the end of the
   * file for a new length, and the whole file after a replacement.
   */
  readonly published = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  #replacements = 0n
  #length: number
  #canAppend: boolean

  /** @param length in bytes; null for a missing file, or one with a torn end */
  constructor(path: string, files: FileSystem, length: number | null) {
    this.#path = path
    this.#files = files
    this.#length = length ?? 0
    this.#canAppend = length !== null
    this.publish()
  }

  /** True while the file ends where the last successful write ended. */
  get canAppend(): boolean {
    return this.#canAppend
  }

  /** Appends lines and syncs them. After an error {@link canAppend} says whether the file is unchanged. */
  async append(lines: string): Promise<void> {
    const file = await this.#files.append(this.#path)
    try {
      this.#canAppend = false
      await file.write(Buffer.from(lines))
      await file.datasync()
    } finally {
      await file.close()
    }
    this.#length += Buffer.byteLength(lines)
    this.#canAppend = true
  }

  /** Replaces the file, with the errors of {@link replaceFile}. */
  async replace(text: string): Promise<void> {
    this.#canAppend = false
    const temporary = join(dirname(this.#path), 'tmp', `takedowns-${randomUUID()}`)
    await replaceFile(this.#path, text, { files: this.#files, temporary })
    this.#replacements++
    this.#length = Buffer.byteLength(text)
    this.#canAppend = true
  }

  /** Makes other threads apply what has been written. */
  publish(): void {
    Atomics.store(this.published, 0, (this.#replacements << LENGTH_BITS) | BigInt(this.#length))
  }
}

/** Splits a value of {@link TakedownFile.published}. */
export function readPublished(published: bigint): { replacements: bigint; length: number } {
  return { replacements: published >> LENGTH_BITS, length: Number(BigInt.asUintN(Number(LENGTH_BITS), published)) }
}
