import { existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, opendir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { openDirectoryNoFollow, openNoFollow } from '../disk/node-file-system.ts'

/** Where Linux shows the files that a process has open. A path below one of them cannot be led elsewhere. */
const OPEN_FILES = '/proc/self/fd'
const HAS_OPEN_FILES = existsSync(OPEN_FILES)

/** Thrown where something is no longer what it was when it was looked at. */
export class ChangedError extends Error {}

/**
 * A directory that stays the one that was opened, whatever its path comes to mean: entries are reached through the
 * open directory. Where the system does not offer that, the path is looked at again after each use, so that only who
 * changes it there and back within that moment is not noticed. Symbolic links are never followed. The caller closes it.
 */
export class OpenDirectory {
  /** Real, as it was when the directory was opened. */
  readonly #path: string
  readonly #seen: Stats
  /** Null where entries are reached by the path. */
  readonly #handle: FileHandle | null

  private constructor(path: string, seen: Stats, handle: FileHandle | null) {
    this.#path = path
    this.#seen = seen
    this.#handle = handle
  }

  /** @param byHandle false reaches entries by the path, as on systems that cannot do better */
  static async open(path: string, byHandle = HAS_OPEN_FILES): Promise<OpenDirectory> {
    return OpenDirectory.#openSame(path, path, await lstat(path), byHandle)
  }

  /** @param way how it is reached now; `path` is its real path */
  static async #openSame(way: string, path: string, seen: Stats, byHandle: boolean): Promise<OpenDirectory> {
    if (!byHandle) {
      await checkPath(path, seen)
      return new OpenDirectory(path, seen, null)
    }
    const handle = await openDirectoryNoFollow(way)
    try {
      if (!isSame(await handle.stat(), seen)) throw new ChangedError()
      return new OpenDirectory(path, seen, handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** In no order. */
  async *names(): AsyncGenerator<string> {
    const entries = await opendir(this.#base, { bufferSize: 256 })
    await this.#check()
    for await (const { name } of entries) yield name
  }

  async stat(name: string): Promise<Stats> {
    const stats = await lstat(join(this.#base, name))
    await this.#check()
    return stats
  }

  /** Where a symbolic link leads. */
  async target(name: string): Promise<string> {
    const target = await readlink(join(this.#base, name))
    await this.#check()
    return target
  }

  /**
   * Opens the very file that was looked at. The caller closes it.
   *
   * @param seen what {@link stat} told
   * @throws ChangedError if there is another one now
   */
  async file(name: string, seen: Stats): Promise<FileHandle> {
    const handle = await openNoFollow(join(this.#base, name))
    try {
      const opened = await handle.stat()
      if (!isSame(opened, seen) || !opened.isFile()) throw new ChangedError()
      await this.#check()
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** The same for a directory. */
  directory(name: string, seen: Stats): Promise<OpenDirectory> {
    const byHandle = this.#handle !== null
    return OpenDirectory.#openSame(join(this.#base, name), join(this.#path, name), seen, byHandle)
  }

  async close(): Promise<void> {
    await this.#handle?.close()
  }

  /** Read anew for each use: once closed, the number of the open file may be another's. */
  get #base(): string {
    return this.#handle === null ? this.#path : join(OPEN_FILES, String(this.#handle.fd))
  }

  async #check(): Promise<void> {
    if (this.#handle === null) await checkPath(this.#path, this.#seen)
  }
}

async function checkPath(path: string, seen: Stats): Promise<void> {
  const stats = await lstat(path)
  if (!stats.isDirectory() || !isSame(stats, seen) || (await realpath(path)) !== path) throw new ChangedError()
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino
}
