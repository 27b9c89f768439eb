import { randomBytes } from 'node:crypto'

/** A part of a multipart form to send. */
export type NewPart =
  | { name: string; text: string }
  /** Any file name, or undefined for plain octets without one. */
  | { name: string; filename: string | undefined; content: AsyncIterable<Uint8Array> | Iterable<Uint8Array> }

/** A multipart form for a request. */
export interface FormBody {
  /** Value of `Content-Type`. */
  type: string
  /** Pieces, each valid until the next one is asked for. */
  body: AsyncIterable<Uint8Array>
}

/** Makes a form of parts, and reads each to its end before the next one. */
export function formBody(parts: AsyncIterable<NewPart> | Iterable<NewPart>): FormBody {
  // Random, so that content cannot contain it on purpose.
  const boundary = randomBytes(16).toString('hex')
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const part of parts) {
      yield Buffer.from(`--${boundary}\r\n${headersOf(part)}\r\n\r\n`)
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
  return `${disposition}${filename}\r\nContent-Type: application/octet-stream`
}

/** Prefers the short plain form. Its readers decode `%22` as a quote, and nothing else is escaped in it. */
function filenameOf(filename: string): string {
  const isPlain = !/[\\\r\n\0]|%22/.test(filename)
  return isPlain ? `filename="${filename.replaceAll('"', '%22')}"` : `filename*=UTF-8''${encodeURIComponent(filename)}`
}
