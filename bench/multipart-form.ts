import { randomUUID } from 'node:crypto'
import { CHUNK_BYTES, slices } from './slices.ts'

export interface FormPart {
  name: string
  filename: string
  content: Uint8Array
}

/** A `multipart/form-data` body of files with a length known in advance. */
export class MultipartForm {
  readonly #pieces: Uint8Array[] = []
  readonly contentType: string
  readonly contentLength: number

  constructor(parts: Iterable<FormPart>) {
    const boundary = `bench-${randomUUID()}`
    this.contentType = `multipart/form-data; boundary=${boundary}`
    for (const { name, filename, content } of parts) {
      const head =
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\n` +
        'content-type: application/octet-stream\r\n\r\n'
      this.#pieces.push(Buffer.from(head), content, Buffer.from('\r\n'))
    }
    this.#pieces.push(Buffer.from(`--${boundary}--\r\n`))
    this.contentLength = this.#pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** Yields the body in pieces of at most one chunk. Short parts are joined, as a buffering client would. */
  *chunks(): Generator<Uint8Array, void, undefined> {
    let gathered: Uint8Array[] = []
    let size = 0
    for (const piece of this.#pieces) {
      if (size + piece.length > CHUNK_BYTES) {
        if (size > 0) yield Buffer.concat(gathered, size)
        gathered = []
        size = 0
        if (piece.length > CHUNK_BYTES) {
          yield* slices(piece)
          continue
        }
      }
      gathered.push(piece)
      size += piece.length
    }
    if (size > 0) yield Buffer.concat(gathered, size)
  }
}
