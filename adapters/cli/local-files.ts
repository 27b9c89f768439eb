import { type BigIntStats, createReadStream } from 'node:fs'
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { bytesOfText, textOfBytes, textOfUnicode } from '../../src/domain/byte-text.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { attributesOnDisk, type StoredAttributes } from '../../src/domain/file-attributes.ts'
import { formTrouble } from '../../src/domain/form-names.ts'
import type { DirectoryFolder } from '../client/index.ts'
import { onDisk } from './local-name.ts'
import { printable } from './printed-text.ts'

const READ_BYTES = 256 * 1024

export interface LocalFile {
  /** Path on this machine. Bytes, if the path may be no UTF-8. */
  file: string | Buffer
  /** Text form of the path in the upload, with `/` between names. */
  path: string
  size: number
  attributes?: StoredAttributes
}

/** A path that the upload skips, because a multipart form cannot carry it or this process cannot read it. */
export interface LeftOut {
  /** Text form. */
  path: string
  what:
    | 'a symbolic link'
    | 'a broken symbolic link'
    | 'a directory that contains itself'
    | 'an empty directory'
    | 'a device, pipe or socket'
    | `a name with ${string}`
    | 'a name that servers refuse'
    | `unreadable (${string})`
}

export interface LocalContent {
  name: string
  isDirectory: boolean
  files: LocalFile[]
  /** The directory, as `.`, and those below it, if their attributes are wanted. */
  folders: DirectoryFolder[]
  leftOut: LeftOut[]
}

export interface LocalOptions {
  /** True to follow symbolic links below a directory, wherever they lead. */
  followLinks: boolean
  preserveMode: boolean
  preserveMtime: boolean
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
export async function readLocalContent(path: string, options: LocalOptions): Promise<LocalContent> {
  const file = textOfUnicode(resolve(path))
  const name = basename(file)
  const entry = await statusOf(file)
  const content: LocalContent = { name, isDirectory: entry.isDirectory(), files: [], folders: [], leftOut: [] }
  const walk = new LocalWalk(content, options)
  if (entry.isFile()) walk.addFile({ file, path: name }, entry)
  else if (entry.isDirectory()) await walk.read({ file, path: '', above: [] }, entry)
  else throw new HoldfastError('INVALID_PATH', `${path} is neither a file nor a directory`)
  const [first] = content.leftOut
  if (content.files.length > 0) return content
  const reason = first === undefined ? '' : ` that can be uploaded: ${printable(first.path)} is ${first.what}`
  throw new HoldfastError('INVALID_PATH', `there are no files in ${path}${reason}`)
}

/** Paths are text forms. */
interface LocalPath {
  /** Path on this machine. */
  file: string
  /** Path in the upload, for a directory with a `/` at the end. Empty for the top directory. */
  path: string
}

interface LocalDirectory extends LocalPath {
  /** Real paths of the directories above. */
  above: readonly string[]
}

class LocalWalk {
  readonly #content: LocalContent
  readonly #options: LocalOptions
  readonly #preserves: boolean
  #entries = 0

  constructor(content: LocalContent, options: LocalOptions) {
    this.#content = content
    this.#options = options
    this.#preserves = options.preserveMode || options.preserveMtime
  }

  addFile({ file, path }: LocalPath, status: BigIntStats): void {
    const attributes = this.#attributesOf(status)
    this.#content.files.push({ file: onDisk(file), path, size: Number(status.size), attributes })
  }

  async read({ file: directory, path: prefix, above }: LocalDirectory, status: BigIntStats): Promise<void> {
    const { leftOut, folders } = this.#content
    const real = await realpath(onDisk(directory), 'buffer').then(textOfBytes, cause => {
      throw unreadable(directory, cause)
    })
    if (above.includes(real)) {
      leftOut.push({ path: prefix, what: 'a directory that contains itself' })
      return
    }
    const names = (
      await readdir(onDisk(directory), 'buffer').catch(cause => {
        throw unreadable(directory, cause)
      })
    ).map(textOfBytes)
    if (this.#preserves) folders.push({ kind: 'directory', path: prefix || '.', ...this.#attributesOf(status) })
    else if (names.length === 0 && prefix !== '') leftOut.push({ path: prefix, what: 'an empty directory' })
    this.#entries += names.length
    if (this.#options.followLinks && this.#entries > MOST_ENTRIES) throw new HoldfastError('INVALID_PATH', TOO_MANY)
    const inside = [...above, real]
    for (const name of names.sort()) {
      await this.#add(name, { file: join(directory, name), path: prefix + name, above: inside })
    }
  }

  async #add(name: string, { file, path, above }: LocalDirectory): Promise<void> {
    const { leftOut } = this.#content
    const what = nameTrouble(name, path)
    if (what !== null) return void leftOut.push({ path, what })
    try {
      await this.#addReadable({ file, path, above })
    } catch (error) {
      const reason = isHoldfastError(error) ? error.details.unreadable : undefined
      if (typeof reason !== 'string') throw error
      leftOut.push({ path, what: `unreadable (${reason})` })
    }
  }

  async #addReadable({ file, path, above }: LocalDirectory): Promise<void> {
    const { leftOut } = this.#content
    const entry = await statusOf(file, lstat)
    const isLink = entry.isSymbolicLink()
    if (isLink && !this.#options.followLinks) return void leftOut.push({ path, what: 'a symbolic link' })
    const found = isLink ? await targetOf(file) : entry
    if (found === null) leftOut.push({ path, what: 'a broken symbolic link' })
    else if (found.isDirectory()) await this.read({ file, path: `${path}/`, above }, found)
    else if (found.isFile()) this.addFile({ file, path }, await readable(file, found))
    else leftOut.push({ path, what: 'a device, pipe or socket' })
  }

  #attributesOf(status: BigIntStats): StoredAttributes {
    const { mode, mtime } = attributesOnDisk(status)
    const { preserveMode, preserveMtime } = this.#options
    return { ...(preserveMode && { mode }), ...(preserveMtime && { mtime }) }
  }
}

/** Limits of servers for the names of a path, and for the bytes of a name. */
const MOST_NAMES = 256
const LONGEST_NAME = 255

/** Returns whether a path begins like that of a drive on Windows, which servers take for an absolute path. */
function isDrive(path: string): boolean {
  return /^[A-Za-z]:(\/|$)/.test(path)
}

/** Returns why a form cannot carry the last name of a path, or null. */
function nameTrouble(name: string, path: string): LeftOut['what'] | null {
  const trouble = formTrouble(name)
  if (trouble !== null) return `a name with ${trouble}`
  const isRefused = isDrive(path) || path.split('/').length > MOST_NAMES || bytesOfText(name).length > LONGEST_NAME
  return isRefused ? 'a name that servers refuse' : null
}

/** @param path text form */
async function statusOf(path: string, look = stat): Promise<BigIntStats> {
  return look(onDisk(path), { bigint: true }).catch(cause => {
    throw unreadable(path, cause)
  })
}

/** Returns the status of a file that this process may read. */
async function readable(path: string, status: BigIntStats): Promise<BigIntStats> {
  const file = await open(onDisk(path)).catch(cause => {
    throw unreadable(path, cause)
  })
  await file.close()
  return status
}

/** Returns null if the link is broken. */
async function targetOf(link: string): Promise<BigIntStats | null> {
  return stat(onDisk(link), { bigint: true }).catch(cause => {
    if (BROKEN.has(cause.code)) return null
    throw unreadable(link, cause)
  })
}

/** Reads a file from the offset `start`. Reading fails if the file's size has changed. */
export function fileSource(
  { file, size }: LocalFile,
  start = 0,
): { size: number; stream: () => AsyncGenerator<Uint8Array, void> } {
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
    if (read !== size) throw new HoldfastError('INVALID_PATH', `${shownPath(file)} changed while it was being read`)
  }
  return { size, stream }
}

export function shownPath(path: string | Buffer): string {
  return printable(typeof path === 'string' ? path : textOfBytes(path))
}

export function unreadable(path: string | Buffer, cause: unknown): HoldfastError {
  const { code, message = String(cause) } = cause as Partial<NodeJS.ErrnoException>
  const reason = code === 'ENOENT' ? 'no such file or directory' : code === 'EACCES' ? 'permission denied' : message
  const details = { unreadable: reason }
  return new HoldfastError('INVALID_PATH', `cannot read ${shownPath(path)}: ${reason}`, { cause, details })
}

/** Returns the error of a failed write. Any other error stays as it is. */
export function unwritable(path: string, cause: unknown): unknown {
  if (!(cause instanceof Error && 'syscall' in cause)) return cause
  return new HoldfastError('INVALID_PATH', `cannot write ${printable(path)}: ${cause.message}`, { cause })
}
