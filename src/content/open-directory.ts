import { type BigIntStats, existsSync } from 'node:fs'
import { type FileHandle, lstat, opendir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { openDirectoryNoFollow, openNoFollow } from '../disk/node-file-system.ts'
import { isSameFile } from '../disk/same-file.ts'
import { bytesOfText, textOfBytes } from '../domain/byte-text.ts'

/**
 * Directory in which Linux lists the open files of a process. A path through it always leads to the open file itself.
 */
const OPEN_FILES = '/proc/self/fd'
const HAS_OPEN_FILES = existsSync(OPEN_FILES)

/** Exact inodes and nanoseconds. */
const EXACT = { bigint: true } as const

/** Options of `opendir`, which yields names as bytes for `buffer`. The types of Node.js lack this encoding. */
const BYTE_NAMES = { bufferSize: 256, encoding: 'buffer' as BufferEncoding }

/** Thrown if a file or directory was replaced after the node had checked it. */
export class ChangedError extends Error {}

/**
 * Reaches its entries through a file handle, so that replacing the directory has no effect. Without `/proc`, it uses
 * the path, and checks the directory after each use. That check misses a change that is undone during one use. Never
 * follows symbolic links. Names and paths are text forms. The caller closes the directory.
 */
export class OpenDirectory {
  /** Real path at the time of opening. */
  readonly #path: string
  readonly #seen: BigIntStats
  /** Null if entries are reached through the path. */
  readonly #handle: FileHandle | null

  private constructor(path: string, seen: BigIntStats, handle: FileHandle | null) {
    this.#path = path
    this.#seen = seen
    this.#handle = handle
  }

  /** @param byHandle false to reach entries through the path, as on systems without `/proc` */
  static async open(path: string, byHandle = HAS_OPEN_FILES): Promise<OpenDirectory> {
    return OpenDirectory.#openSame(path, path, await lstat(pathBytes(path), EXACT), byHandle)
  }

  /** @param way path through which to open the directory now; `path` is its real path */
  static async #openSame(way: string, path: string, seen: BigIntStats, byHandle: boolean): Promise<OpenDirectory> {
    if (!byHandle) {
      await checkPath(path, seen)
      return new OpenDirectory(path, seen, null)
    }
    const handle = await openDirectoryNoFollow(pathBytes(way))
    try {
      if (!isSameFile(await handle.stat(EXACT), seen)) throw new ChangedError()
      return new OpenDirectory(path, seen, handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Status of the directory when it was opened. */
  get seen(): BigIntStats {
    return this.#seen
  }

  async *names(): AsyncGenerator<string> {
    const entries = await opendir(pathBytes(this.#base), BYTE_NAMES)
    await this.#check()
    for await (const { name } of entries as AsyncIterable<{ name: string | Buffer }>) {
      yield typeof name === 'string' ? name : textOfBytes(name)
    }
  }

  async stat(name: string): Promise<BigIntStats> {
    const stats = await lstat(pathBytes(join(this.#base, name)), EXACT)
    await this.#check()
    return stats
  }

  async target(name: string): Promise<string> {
    const target = await readlink(pathBytes(join(this.#base, name)), 'buffer')
    await this.#check()
    return textOfBytes(target)
  }

  /**
   * Opens a file, which the caller closes.
   *
   * @param seen result of {@link stat}
   * @throws ChangedError if the name now belongs to another file
   */
  async file(name: string, seen: BigIntStats): Promise<FileHandle> {
    const handle = await openNoFollow(pathBytes(join(this.#base, name)))
    try {
      const opened = await handle.stat(EXACT)
      if (!isSameFile(opened, seen) || !opened.isFile()) throw new ChangedError()
      await this.#check()
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Opens a directory inside this one, which the caller closes. */
  directory(name: string, seen: BigIntStats): Promise<OpenDirectory> {
    const byHandle = this.#handle !== null
    return OpenDirectory.#openSame(join(this.#base, name), join(this.#path, name), seen, byHandle)
  }

  async close(): Promise<void> {
    await this.#handle?.close()
  }

  /**
   * Path through which the entries are reached. Computed for each use, because the number of a closed handle may be
   * reused for another file.
   */
  get #base(): string {
    return this.#handle === null ? this.#path : join(OPEN_FILES, String(this.#handle.fd))
  }

  async #check(): Promise<void> {
    if (this.#handle === null) await checkPath(this.#path, this.#seen)
  }
}

/** Returns the text form of the real path. */
export async function realPathText(path: string): Promise<string> {
  return textOfBytes(await realpath(pathBytes(path), 'buffer'))
}

/** Returns the bytes of a path, which may be no UTF-8. */
export function pathBytes(path: string): Buffer {
  return Buffer.from(bytesOfText(path))
}

async function checkPath(path: string, seen: BigIntStats): Promise<void> {
  const stats = await lstat(pathBytes(path), EXACT)
  if (!stats.isDirectory() || !isSameFile(stats, seen) || (await realPathText(path)) !== path) throw new ChangedError()
}
