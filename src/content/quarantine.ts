import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { QUARANTINE } from '../disk/file-names.ts'
import { type FileSystem, fileErrorCode, madeDirectory } from '../domain/file-system.ts'

/** As many damaged blocks as are kept. */
const MOST_QUARANTINED = 100

/** `quarantine/` beside `blocks/`: what is damaged, or has a block's name and is none, is moved there to be looked at. */
export class Quarantine {
  readonly #dir: string
  readonly #files: FileSystem

  constructor(dataDir: string, files: FileSystem) {
    this.#dir = join(dataDir, QUARANTINE)
    this.#files = files
  }

  /**
   * Moves a block's file here, unless there are too many already: then it is left, to be written over.
   *
   * @param size of the block, in bytes
   * @param isSound tells of bytes that somebody has put right in the meantime: they go back
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

  /** As {@link takeFile}, for bytes that are no file. */
  async takeBytes(bytes: Uint8Array): Promise<void> {
    if (await this.#isFull()) return
    const file = await this.#files.create(join(this.#dir, randomUUID()))
    await file.write(bytes).finally(() => file.close())
  }

  /** Moves here, however much there is already, what is none of ours to remove. Returns where it lies. */
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
