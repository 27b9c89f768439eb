import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../disk/replace-file.ts'
import type { FileSystem } from '../../domain/file-system.ts'

/** Number of low bits in {@link TakedownFile.published} that store the length of the file. */
const LENGTH_BITS = 40n

/** Writes the file of takedowns, and publishes to other threads how many bytes of the file are in force. */
export class TakedownFile {
  readonly #path: string
  readonly #files: FileSystem
  /**
   * The state of the file, for other threads. The low {@link LENGTH_BITS} bits are the number of bytes in force. The
   * higher bits count how often the file has been replaced. If the length grows, a thread reads only the added bytes.
   * After a replacement, the thread reads the whole file.
   */
  readonly published = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  #replacements = 0n
  #length: number
  #canAppend: boolean

  /** @param length size of the file in bytes; null if the file is missing or its last write is incomplete */
  constructor(path: string, files: FileSystem, length: number | null) {
    this.#path = path
    this.#files = files
    this.#length = length ?? 0
    this.#canAppend = length !== null
    this.publish()
  }

  /** True if the file ends where the last successful write ended, so that lines can be appended. */
  get canAppend(): boolean {
    return this.#canAppend
  }

  /**
   * Appends lines and syncs them to disk. If this method throws and {@link canAppend} is still true, the file is
   * unchanged.
   */
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

  /** Replaces the whole file atomically. Throws the errors of {@link replaceFile}. */
  async replace(text: string): Promise<void> {
    this.#canAppend = false
    const temporary = join(dirname(this.#path), 'tmp', `takedowns-${randomUUID()}`)
    await replaceFile(this.#path, text, { files: this.#files, temporary })
    this.#replacements++
    this.#length = Buffer.byteLength(text)
    this.#canAppend = true
  }

  /** Publishes the current length and replacement count. Other threads then apply the written lines. */
  publish(): void {
    Atomics.store(this.published, 0, (this.#replacements << LENGTH_BITS) | BigInt(this.#length))
  }
}

/** Splits a value of {@link TakedownFile.published} into the number of replacements and the length in bytes. */
export function readPublished(published: bigint): { replacements: bigint; length: number } {
  return { replacements: published >> LENGTH_BITS, length: Number(BigInt.asUintN(Number(LENGTH_BITS), published)) }
}
