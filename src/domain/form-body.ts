import { randomBytes } from 'node:crypto'
import { bytesOfText, hasMarks } from './byte-text.ts'

export type NewPart =
  | { name: string; text: string }
  /**
   * The file name is a text form, or undefined if the part contains plain bytes without a file name. Default type:
   * `application/octet-stream`.
   */
  | {
      name: string
      filename: string | undefined
      content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
      type?: string | undefined
    }

export interface FormBody {
  type: string
  /** Each piece is valid until the consumer requests the next piece. */
  body: AsyncIterable<Uint8Array>
}

/** Reads the content of each part completely before the next part. */
export function formBody(parts: AsyncIterable<NewPart> | Iterable<NewPart>): FormBody {
  // Random, so that nobody can create content that contains the boundary.
  const boundary = randomBytes(16).toString('hex')
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const part of parts) {
      yield bytesOfText(`--${boundary}\r\n${headersOf(part)}\r\n\r\n`)
      if ('text' in part) yield Buffer.from(part.text)
      else yield* part.content
      yield Buffer.from('\r\n')
    }
    yield Buffer.from(`--${boundary}--\r\n`)
  }
  return { type: `multipart/form-data; boundary=${boundary}`, body: body() }
}

function headersOf(part: NewPart): string {
  const disposition = `Content-Disposition: form-data; name="${part.name}"`
  if ('text' in part) return disposition
  const filename = part.filename === undefined ? '' : `; ${filenameOf(part.filename)}`
  return `${disposition}${filename}\r\nContent-Type: ${part.type ?? 'application/octet-stream'}`
}

/**
 * Returns the file name in the plain form if possible. In the plain form, recipients decode `%22` as a quote, and no
 * other character is escaped. Only the plain form takes bytes that are not UTF-8.
 */
function filenameOf(filename: string): string {
  const isPlain = hasMarks(filename) || !/[\\\r\n\0]|%22/.test(filename)
  return isPlain ? `filename="${filename.replaceAll('"', '%22')}"` : `filename*=UTF-8''${encodeURIComponent(filename)}`
}
