import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { QUARANTINE } from '../disk/file-names.ts'
import { type FileSystem, fileErrorCode, madeDirectory } from '../domain/file-system.ts'

const MOST_QUARANTINED = 100

/** Moves damaged blocks, and foreign files that had the name of a block, to `quarantine/` for operators to inspect. */
export class Quarantine {
  readonly #dir: string
  readonly #files: FileSystem

  constructor(dataDir: string, files: FileSystem) {
    this.#dir = join(dataDir, QUARANTINE)
    this.#files = files
  }

  /**
   * Moves a block's file to quarantine. If the quarantine is full, leaves the file for a repair to overwrite.
   *
   * @param size size of the block in bytes
   * @param isSound returns true if the bytes have been repaired in the meantime; the file is then moved back
   */
  async takeFile(path: string, size: number, isSound: (bytes: Uint8Array) => Promise<boolean>): Promise<void> {
    const isThere = await this.#files.size(path).then(
      () => true,
      (error: unknown) => fileErrorCode(error) !== 'ENOENT',
    )
    if (!isThere || (await this.#isFull())) return
    const moved = await this.setAside(path)
    const bytes = await this.#files.read(moved, size).catch(() => null)
    if (bytes === null || !(await isSound(bytes))) return
    await this.#files.rename(moved, path)
    await this.#files.syncDirectory(dirname(path))
  }

  /** Writes the bytes of a damaged block that has no file to quarantine, unless the quarantine is full. */
  async takeBytes(bytes: Uint8Array): Promise<void> {
    if (await this.#isFull()) return
    const file = await this.#files.create(join(this.#dir, randomUUID()))
    await file.write(bytes).finally(() => file.close())
  }

  /** Moves a foreign file or directory to quarantine, even if the quarantine is full. Returns the new path. */
  async setAside(path: string): Promise<string> {
    await madeDirectory(this.#files, this.#dir)
    const moved = join(this.#dir, randomUUID())
    await this.#files.rename(path, moved)
    await this.#files.syncDirectory(this.#dir)
    return moved
  }

  async #isFull(): Promise<boolean> {
    await madeDirectory(this.#files, this.#dir)
    return (await this.#files.list(this.#dir)).length >= MOST_QUARANTINED
  }
}
