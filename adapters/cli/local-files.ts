import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
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
  what: 'a symbolic link' | 'an empty directory' | 'a device, pipe or socket'
}

export interface LocalContent {
  name: string
  isDirectory: boolean
  files: LocalFile[]
  leftOut: LeftOut[]
}

/**
 * Finds a file, or all files below a directory in the order of their names, including hidden files. Follows a symbolic
 * link only if `path` itself is the link.
 * @throws HoldfastError `INVALID_PATH` if the path is neither a file nor a directory, cannot be read, or contains no
 * files
 */
export async function readLocalContent(path: string): Promise<LocalContent> {
  const file = resolve(path)
  const name = basename(file)
  const entry = await stat(file).catch(cause => {
    throw unreadable(path, cause)
  })
  if (entry.isFile()) return { name, isDirectory: false, files: [{ file, path: name, size: entry.size }], leftOut: [] }
  if (!entry.isDirectory()) throw new HoldfastError('INVALID_PATH', `${path} is neither a file nor a directory`)
  const content: LocalContent = { name, isDirectory: true, files: [], leftOut: [] }
  await readBelow(file, '', content)
  if (content.files.length === 0) throw new HoldfastError('INVALID_PATH', `there are no files in ${path}`)
  return content
}

async function readBelow(directory: string, prefix: string, content: LocalContent): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(cause => {
    throw unreadable(directory, cause)
  })
  if (entries.length === 0 && prefix !== '') content.leftOut.push({ path: prefix, what: 'an empty directory' })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = join(directory, entry.name)
    const path = prefix + entry.name
    if (entry.isDirectory()) {
      await readBelow(file, `${path}/`, content)
    } else if (entry.isFile()) {
      const { size } = await stat(file).catch(cause => {
        throw unreadable(file, cause)
      })
      content.files.push({ file, path, size })
    } else {
      const what = entry.isSymbolicLink() ? 'a symbolic link' : 'a device, pipe or socket'
      content.leftOut.push({ path, what })
    }
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
