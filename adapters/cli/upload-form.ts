import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { RequestBody } from './http-exchange.ts'
import { type LocalFile, unreadable } from './local-files.ts'
import { printable } from './text.ts'

export interface UploadFormOptions {
  /** Text fields; undefined ones are left out. They go first, so that a server can refuse them before the files. */
  fields: Readonly<Record<string, string | undefined>>
  /** The name of the file fields. */
  field: 'file' | 'files'
  files: readonly LocalFile[]
  /** Called with the bytes of the files that have been handed to the connection so far. */
  onProgress?: (bytes: number) => void
}

const READ_BYTES = 256 * 1024
/** Smaller pieces are sent together. */
const PIECE_BYTES = 64 * 1024
const LINE_BREAK = Buffer.from('\r\n')

/**
 * A form of files, read while it is sent: memory stays flat however much it holds, and its length is known before.
 *
 * @throws HoldfastError `INVALID_PATH` for a name that the form cannot carry as it is.
 */
export function uploadForm({ fields, field, files, onProgress = () => undefined }: UploadFormOptions): RequestBody {
  const boundary = `holdfast-${randomUUID()}`
  const head = (disposition: string): Buffer =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`)
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [head(`name="${name}"`), Buffer.from(value), LINE_BREAK],
  )
  const headOf = ({ path }: LocalFile): Buffer => head(`name="${field}"; filename="${filename(path)}"`)
  const end = Buffer.from(`--${boundary}--\r\n`)

  let length = end.length + texts.reduce((sum, text) => sum + text.length, 0)
  for (const file of files) length += headOf(file).length + file.size + LINE_BREAK.length

  async function* pieces(): AsyncGenerator<Buffer, void> {
    yield* texts
    let sent = 0
    for (const file of files) {
      yield headOf(file)
      for await (const chunk of contentOf(file)) {
        yield chunk
        sent += chunk.length
        onProgress(sent)
      }
      yield LINE_BREAK
    }
    yield end
  }
  return { type: `multipart/form-data; boundary=${boundary}`, length, open: () => joined(pieces()) }
}

/** The bytes of a file, exactly as many as it had when it was looked at. */
async function* contentOf({ file, size }: LocalFile): AsyncGenerator<Buffer, void> {
  let read = 0
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>) {
      read += chunk.length
      if (read > size) break
      yield chunk
    }
  } catch (cause) {
    throw unreadable(file, cause)
  }
  if (read !== size) throw new HoldfastError('INVALID_PATH', `${printable(file)} changed while it was being read`)
}

/** Pieces of a sensible size out of many small ones. */
async function* joined(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const piece of pieces) {
    waiting.push(piece)
    bytes += piece.length
    if (bytes < PIECE_BYTES) continue
    yield waiting.length === 1 ? piece : Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/** A name as forms write it. What has no way of being written, or would arrive as another name, is refused. */
function filename(path: string): string {
  const trouble = /[\0\r\n]/.test(path) ? 'a line break' : path.includes('\\') ? 'a backslash' : ''
  const problem = trouble || (path.includes('%22') ? '%22' : '')
  if (problem !== '') {
    throw new HoldfastError(
      'INVALID_PATH',
      `${printable(path)} cannot be uploaded by this name, it has ${problem} in it`,
    )
  }
  return path.replaceAll('"', '%22')
}
