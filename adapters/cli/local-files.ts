import { createReadStream, type Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { SizedSource } from '../client/index.ts'
import { printable } from './printed-text.ts'

const READ_BYTES = 256 * 1024

export interface LocalFile {
  /** Path on this machine. */
  file: string
  /** Path in the upload, with `/` between names. */
  path: string
  size: number
}

/** A path that the upload skips, because a multipart form cannot carry a link or an empty directory. */
export interface LeftOut {
  path: string
  what:
    | 'a symbolic link'
    | 'a broken symbolic link'
    | 'a directory that contains itself'
    | 'an empty directory'
    | 'a device, pipe or socket'
}

export interface LocalContent {
  name: string
  isDirectory: boolean
  files: LocalFile[]
  leftOut: LeftOut[]
}

export interface Following {
  /** True to follow symbolic links below a directory, wherever they lead. */
  followLinks: boolean
}

/** Maximum number of entries if links are followed. Directories that link to each other have very many paths. */
const MOST_ENTRIES = 1_000_000
const TOO_MANY = `symbolic links lead to more than ${MOST_ENTRIES} files and directories`
/** Errors of a link whose target does not exist. */
const BROKEN = new Set(['ENOENT', 'ELOOP', 'ENOTDIR'])

/**
 * Finds a file, or all files below a directory in the order of their names, including hidden files. Always follows
 * `path` itself if it is a symbolic link.
 * @throws HoldfastError `INVALID_PATH` if the path is neither a file nor a directory, cannot be read, or contains no
 * files
 */
export async function readLocalContent(path: string, following: Following): Promise<LocalContent> {
  const file = resolve(path)
  const name = basename(file)
  const entry = await stat(file).catch(cause => {
    throw unreadable(path, cause)
  })
  if (entry.isFile()) return { name, isDirectory: false, files: [{ file, path: name, size: entry.size }], leftOut: [] }
  if (!entry.isDirectory()) throw new HoldfastError('INVALID_PATH', `${path} is neither a file nor a directory`)
  const content: LocalContent = { name, isDirectory: true, files: [], leftOut: [] }
  await new LocalWalk(content, following).read({ file, path: '', above: [] })
  if (content.files.length === 0) throw new HoldfastError('INVALID_PATH', `there are no files in ${path}`)
  return content
}

interface LocalDirectory {
  /** Path on this machine. */
  file: string
  /** Path in the upload, with a `/` at the end. Empty for the top directory. */
  path: string
  /** Real paths of the directories above. */
  above: readonly string[]
}

class LocalWalk {
  readonly #content: LocalContent
  readonly #following: Following
  #entries = 0

  constructor(content: LocalContent, following: Following) {
    this.#content = content
    this.#following = following
  }

  async read({ file: directory, path: prefix, above }: LocalDirectory): Promise<void> {
    const { leftOut } = this.#content
    const real = await realpath(directory).catch(cause => {
      throw unreadable(directory, cause)
    })
    if (above.includes(real)) {
      leftOut.push({ path: prefix, what: 'a directory that contains itself' })
      return
    }
    const entries = await readdir(directory, { withFileTypes: true }).catch(cause => {
      throw unreadable(directory, cause)
    })
    if (entries.length === 0 && prefix !== '') leftOut.push({ path: prefix, what: 'an empty directory' })
    this.#entries += entries.length
    if (this.#following.followLinks && this.#entries > MOST_ENTRIES) throw new HoldfastError('INVALID_PATH', TOO_MANY)
    const inside = [...above, real]
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      await this.#add(entry, { file: join(directory, entry.name), path: prefix + entry.name, above: inside })
    }
  }

  async #add(entry: Dirent, { file, path, above }: LocalDirectory): Promise<void> {
    const { files, leftOut } = this.#content
    const isLink = entry.isSymbolicLink()
    if (isLink && !this.#following.followLinks) return void leftOut.push({ path, what: 'a symbolic link' })
    if (entry.isDirectory()) return this.read({ file, path: `${path}/`, above })
    if (!isLink && !entry.isFile()) return void leftOut.push({ path, what: 'a device, pipe or socket' })
    const found = await stat(file).catch(cause => {
      if (isLink && BROKEN.has(cause.code)) return null
      throw unreadable(file, cause)
    })
    if (found === null) leftOut.push({ path, what: 'a broken symbolic link' })
    else if (found.isDirectory()) await this.read({ file, path: `${path}/`, above })
    else if (found.isFile()) files.push({ file, path, size: found.size })
    else leftOut.push({ path, what: 'a device, pipe or socket' })
  }
}

/** Reads a file from the offset `start`. Reading fails if the file's size has changed. */
export function fileSource({ file, size }: LocalFile, start = 0): SizedSource {
  async function* stream(): AsyncGenerator<Uint8Array, void> {
    let read = 0
    try {
      const chunks = createReadStream(file, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>
      for await (const chunk of chunks) {
        read += chunk.length
        if (read > size) break
        yield chunk
      }
    } catch (cause) {
      throw unreadable(file, cause)
    }
    if (read !== size) throw new HoldfastError('INVALID_PATH', `${printable(file)} changed while it was being read`)
  }
  return { size, stream }
}

export function unreadable(path: string, cause: unknown): HoldfastError {
  const { code, message = String(cause) } = cause as Partial<NodeJS.ErrnoException>
  const reason = code === 'ENOENT' ? 'no such file or directory' : code === 'EACCES' ? 'permission denied' : message
  return new HoldfastError('INVALID_PATH', `cannot read ${printable(path)}: ${reason}`, { cause })
}

/** Returns the error of a failed write. Any other error stays as it is. */
export function unwritable(path: string, cause: unknown): unknown {
  if (!(cause instanceof Error && 'syscall' in cause)) return cause
  return new HoldfastError('INVALID_PATH', `cannot write ${printable(path)}: ${cause.message}`, { cause })
}
