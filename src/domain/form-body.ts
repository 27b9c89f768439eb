import { randomBytes } from 'node:crypto'

/** A part of a form that is being made. */
export type NewPart =
  | { name: string; text: string }
  /** `filename` may be anything that a form can say, or undefined for plain octets without one. */
  | { name: string; filename: string | undefined; content: AsyncIterable<Uint8Array> | Iterable<Uint8Array> }

/** A form, for a request. */
export interface FormBody {
  /** For `Content-Type`. */
  type: string
  /** Made while it is read, each piece good until the next one is asked for. */
  body: AsyncIterable<Uint8Array>
}

/** Makes a form of parts, each read to its end before the next one is asked for. */
export function formBody(parts: AsyncIterable<NewPart> | Iterable<NewPart>): FormBody {
  // Whoever chose the content must not know it.
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

/** Plain where whoever reads it gets the same name, which is shorter: a quote is `%22` there, and nothing else is escaped. */
function filenameOf(filename: string): string {
  const isPlain = !/[\\\r\n\0]|%22/.test(filename)
  return isPlain ? `filename="${filename.replaceAll('"', '%22')}"` : `filename*=UTF-8''${encodeURIComponent(filename)}`
}
