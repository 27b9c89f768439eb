import type { Stats } from 'node:fs'
import { type FileHandle, lstat, opendir, readlink, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import { refusal } from './entry-path.ts'
import { openNoFollow } from './file-system.ts'

/** What a directory on the server holds, in the order of a walk; names are the path's segments. */
export type ServerEntry =
  | { kind: 'file'; names: string[]; content: AsyncIterable<Uint8Array> }
  | { kind: 'directory'; names: string[] }
  | { kind: 'symlink'; names: string[]; target: string }

const READ_BYTES = 1024 ** 2
const NOT_A_DIRECTORY = 'dirPath is not a directory below an import root'

/**
 * Finds the directory that a server path means.
 *
 * @param roots directories below which reading is allowed; a relative path resolves against the first
 * @throws HoldfastError `INVALID_PATH`, the same whether it is not there, outside, or not a directory.
 */
export async function resolveServerDirectory(roots: readonly string[], dirPath: string): Promise<string> {
  const [first] = roots
  if (dirPath === '' || dirPath.includes('\0') || first === undefined) {
    throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY)
  }
  try {
    const real = await realpath(isAbsolute(dirPath) ? dirPath : resolve(first, dirPath))
    const realRoots = await Promise.all(roots.map(root => realpath(root).catch(() => null)))
    const inside = realRoots.some(root => root !== null && isInside(root, real))
    if (inside && (await lstat(real)).isDirectory()) return real
  } catch (cause) {
    throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY, { cause })
  }
  throw new HoldfastError('INVALID_PATH', NOT_A_DIRECTORY)
}

/** Whether `path` is `root` or below it; both real paths. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/**
 * Walks a directory: hidden files and empty directories included, symbolic links told and never followed.
 *
 * @throws HoldfastError `INVALID_PATH` naming an entry that is neither file, directory nor link, whose name is not
 * UTF-8, or that changes while it is read.
 */
export async function* walkServerDirectory(directory: string, above: string[] = []): AsyncGenerator<ServerEntry> {
  for await (const entry of await opendir(directory, { bufferSize: 256 })) {
    const names = [...above, entry.name]
    // Names that are not UTF-8 come with replacement characters, under which nothing can be opened.
    const path = join(directory, entry.name)
    const stats = await lstat(path).catch(() => null)
    if (stats === null) throw changed(names)
    if (stats.isDirectory()) {
      yield { kind: 'directory', names }
      // A directory that has become a link since would lead out of the import root.
      if ((await realpath(path)) !== path) throw changed(names)
      yield* walkServerDirectory(path, names)
    } else if (stats.isSymbolicLink()) {
      yield { kind: 'symlink', names, target: await readlink(path) }
    } else if (stats.isFile()) {
      yield { kind: 'file', names, content: readUnchanged(path, names, stats) }
    } else {
      throw refusal(names.join('/'), `is a ${kindOf(stats)}, which cannot be stored`)
    }
  }
}

/** Reads the very file that was looked at, and notices if it changes meanwhile. */
async function* readUnchanged(path: string, names: string[], seen: Stats): AsyncGenerator<Uint8Array> {
  let handle: FileHandle
  try {
    handle = await openNoFollow(path)
  } catch (cause) {
    throw unreadable(names, cause)
  }
  try {
    const opened = await handle.stat()
    if (opened.dev !== seen.dev || opened.ino !== seen.ino || !opened.isFile()) throw changed(names)
    let length = 0
    for (;;) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(opened.size - length, 1)))
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, length)
      if (bytesRead === 0) break
      length += bytesRead
      if (length > opened.size) throw changed(names)
      yield buffer.subarray(0, bytesRead)
    }
    const after = await handle.stat()
    if (length !== opened.size || after.mtimeMs !== opened.mtimeMs || after.size !== opened.size) throw changed(names)
  } finally {
    await handle.close()
  }
}

function changed(names: string[]): HoldfastError {
  return refusal(names.join('/'), 'changed while it was read, or its name is not UTF-8')
}

function unreadable(names: string[], cause: unknown): HoldfastError {
  const path = JSON.stringify(names.join('/'))
  return new HoldfastError('INVALID_PATH', `path ${path} cannot be read by the server`, { cause })
}

function kindOf(entry: Stats): string {
  if (entry.isSocket()) return 'socket'
  if (entry.isFIFO()) return 'pipe'
  return entry.isBlockDevice() || entry.isCharacterDevice() ? 'device' : 'file of an unknown kind'
}
