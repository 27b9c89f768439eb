import type { BigIntStats } from 'node:fs'
import { type FileHandle, lstat } from 'node:fs/promises'
import { basename, isAbsolute, relative, resolve, sep } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import { attributesOnDisk, type StoredAttributes } from '../domain/file-attributes.ts'
import { ChangedError, OpenDirectory, pathBytes, realPathText } from './open-directory.ts'
import { MOST_NAMES, pathRefusal } from './unixfs/entry-path.ts'

/** Names and paths are text forms. */
export interface ServerDirectory {
  /** Absolute real path of the import root. */
  root: string
  /** Names on the path from the import root to the directory. */
  names: string[]
}

/** `names` are the segments of the entry's path. Names and targets are text forms. The walked directory itself has none. */
export type ServerEntry = { attributes: Required<StoredAttributes> } & (
  | { kind: 'file'; names: string[]; content: AsyncIterable<Uint8Array> }
  | { kind: 'directory'; names: string[] }
  | { kind: 'symlink'; names: string[]; target: string }
)

const READ_BYTES = 1024 ** 2
const NOT_A_DIRECTORY = 'dirPath is not a directory below an import root'

/**
 * Finds the directory of a server path.
 *
 * @param roots directories in which reading is allowed; a relative path resolves against the first one
 * @throws HoldfastError `INVALID_PATH`, with the same message if the path does not exist, is outside the roots, or is
 * not a directory
 */
export async function resolveServerDirectory(roots: readonly string[], dirPath: string): Promise<ServerDirectory> {
  const [first] = roots
  if (dirPath === '' || dirPath.includes('\0') || first === undefined) {
    throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY)
  }
  try {
    const real = await realPathText(isAbsolute(dirPath) ? dirPath : resolve(first, dirPath))
    const realRoots = await Promise.all(roots.map(root => realPathText(root).catch(() => null)))
    const root = realRoots.find(root => root !== null && isInside(root, real))
    if (root !== undefined && root !== null && (await lstat(pathBytes(real))).isDirectory()) {
      return {
        root,
        names: relative(root, real)
          .split(sep)
          .filter(name => name !== ''),
      }
    }
  } catch (cause) {
    throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY, { cause })
  }
  throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY)
}

export function directoryName({ root, names }: ServerDirectory): string {
  return names.at(-1) ?? basename(root)
}

/** Returns whether a path is the root or below it. Both must be real paths. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

interface Level {
  directory: OpenDirectory
  left: AsyncIterator<string>
  names: string[]
}

/**
 * Walks a directory, including hidden files and empty directories. Yields symbolic links but never follows them. The
 * caller must read a file's content before it requests the next entry.
 *
 * @param byHandle see {@link OpenDirectory.open}
 * @throws HoldfastError `INVALID_PATH` for other kinds of entries, more than 256 levels, and changes during the read
 */
export async function* walkServerDirectory(
  { root, names: way }: ServerDirectory,
  byHandle?: boolean,
): AsyncGenerator<ServerEntry> {
  const levels: Level[] = []
  const enter = (directory: OpenDirectory, names: string[]): void => {
    levels.push({ directory, left: directory.names(), names })
  }
  try {
    const top = await openBelow(root, way, byHandle)
    enter(top, [])
    yield { kind: 'directory', names: [], attributes: attributesOnDisk(top.seen) }
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const { directory, left } = level
      const next = await naming(level.names, () => left.next())
      if (next.done === true) {
        levels.pop()
        await directory.close()
        continue
      }
      const name = next.value
      const names = [...level.names, name]
      const stats = await naming(names, () => directory.stat(name), { anyError: true })
      const attributes = attributesOnDisk(stats)
      if (stats.isDirectory()) {
        if (names.length > MOST_NAMES) throw pathRefusal(names.join('/'), `lies over ${MOST_NAMES} directories deep`)
        yield { kind: 'directory', names, attributes }
        enter(await naming(names, () => directory.directory(name, stats)), names)
      } else if (stats.isSymbolicLink()) {
        const target = await naming(names, () => directory.target(name))
        yield { kind: 'symlink', names, target, attributes }
      } else if (stats.isFile()) {
        yield { kind: 'file', names, content: readUnchanged(directory, names, stats), attributes }
      } else {
        throw pathRefusal(names.join('/'), `is a ${kindOf(stats)}, which cannot be stored`)
      }
    }
  } finally {
    for (const { directory, left } of levels.reverse()) {
      await left.return?.()
      await directory.close()
    }
  }
}

/** Rejects symbolic links on the path. */
async function openBelow(root: string, way: readonly string[], byHandle?: boolean): Promise<OpenDirectory> {
  let directory = await naming([], () => OpenDirectory.open(root, byHandle))
  for (const [i, name] of way.entries()) {
    const above = directory
    try {
      directory = await naming(way.slice(0, i + 1), async () => above.directory(name, await above.stat(name)))
    } finally {
      await above.close()
    }
  }
  return directory
}

async function* readUnchanged(
  directory: OpenDirectory,
  names: string[],
  seen: BigIntStats,
): AsyncGenerator<Uint8Array> {
  const handle: FileHandle = await naming(names, () => directory.file(names.at(-1) ?? '', seen))
  try {
    const opened = await handle.stat({ bigint: true })
    const size = Number(opened.size)
    let length = 0
    for (;;) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(size - length, 1)))
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, length)
      if (bytesRead === 0) break
      length += bytesRead
      if (length > size) throw changed(names)
      yield buffer.subarray(0, bytesRead)
    }
    const after = await handle.stat({ bigint: true })
    if (length !== size || after.mtimeNs !== opened.mtimeNs || after.size !== opened.size) throw changed(names)
  } finally {
    await handle.close()
  }
}

/** Adds the name of the entry to errors of the file system. */
async function naming<T>(names: readonly string[], use: () => Promise<T>, { anyError = false } = {}): Promise<T> {
  try {
    return await use()
  } catch (cause) {
    if (anyError || cause instanceof ChangedError) throw changed(names)
    throw pathRefusal(names.join('/'), 'cannot be read by the server', cause)
  }
}

function changed(names: readonly string[]): HoldfastError {
  return pathRefusal(names.join('/'), 'changed while it was read')
}

function kindOf(entry: BigIntStats): string {
  if (entry.isSocket()) return 'socket'
  if (entry.isFIFO()) return 'pipe'
  return entry.isBlockDevice() || entry.isCharacterDevice() ? 'device' : 'file of an unknown kind'
}
