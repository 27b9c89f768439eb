import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../disk/replace-file.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { type FileSystem, fileErrorCode } from '../../domain/file-system.ts'

/** Number of low bits in {@link TakedownFile.published} that store the length of the file. */
const LENGTH_BITS = 40n

/** Returns the text of the file; null if it is missing. @throws HoldfastError `DATA_DIR_UNUSABLE` */
export function readTakedowns(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (fileErrorCode(cause) === 'ENOENT') return null
    throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} cannot be read`, { cause })
  }
}

export class TakedownFile {
  readonly #path: string
  readonly #files: FileSystem
  /**
   * Length in the low {@link LENGTH_BITS} bits, number of replacements above. After growth, other threads read only the
   * added bytes. After a replacement, they read the whole file.
   */
  readonly published = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  #replacements = 0n
  #length: number
  #canAppend: boolean

  /** @param length in bytes; null if the file is missing or its last write is incomplete */
  constructor(path: string, files: FileSystem, length: number | null) {
    this.#path = path
    this.#files = files
    this.#length = length ?? 0
    this.#canAppend = length !== null
    this.publish()
  }

  /** True if the file ends where the last successful write ended. */
  get canAppend(): boolean {
    return this.#canAppend
  }

  /**
   * Appends lines and syncs them to disk. If this method throws and {@link canAppend} stays true, the file is
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

  async replace(text: string): Promise<void> {
    this.#canAppend = false
    const temporary = join(dirname(this.#path), 'tmp', `takedowns-${randomUUID()}`)
    await replaceFile(this.#path, text, { files: this.#files, temporary })
    this.#replacements++
    this.#length = Buffer.byteLength(text)
    this.#canAppend = true
  }

  publish(): void {
    Atomics.store(this.published, 0, (this.#replacements << LENGTH_BITS) | BigInt(this.#length))
  }
}

export function readPublished(published: bigint): { replacements: bigint; length: number } {
  return { replacements: published >> LENGTH_BITS, length: Number(BigInt.asUintN(Number(LENGTH_BITS), published)) }
}

/** Returns the error of a change that the disk may have. */
export function unknownAfterDiskError(cause: unknown): unknown {
  if (isHoldfastError(cause, 'OUTCOME_UNKNOWN')) return cause
  const message = 'the change is recorded, but the disk of this node failed: repeat the request'
  return new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
}
