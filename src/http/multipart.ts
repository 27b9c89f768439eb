import { HoldfastError } from '../domain/errors.ts'
import { parseDisposition } from './content-disposition.ts'
import { readParameters } from './header-parameters.ts'
import type { ApiRequest } from './types.ts'

/** One part of a form. Its content can be read while it is the current part, and at most once. */
export interface FormPart {
  readonly name: string
  /** As sent, with its directories; undefined if the part has none. */
  readonly filename: string | undefined
  /** Whether the client marked the part as a file, by a file name or as plain octets. */
  readonly isFile: boolean
  /** The bytes, each piece good until the next one is asked for. What is not read is skipped. */
  readonly content: AsyncIterable<Uint8Array>
}

/** What a form is read from. */
export type FormRequest = Pick<ApiRequest, 'body' | 'header'>

export interface FormLimits {
  /** Parts of one form, of any kind. */
  maxParts: number
  /** Bytes of the headers of one part. */
  maxHeaderBytes: number
  /** Bytes before the first part and after the last one. */
  maxPaddingBytes: number
}

export const defaultFormLimits: FormLimits = {
  maxParts: 500_000,
  maxHeaderBytes: 16 * 1024,
  maxPaddingBytes: 1024 * 1024,
}

const FORM_TYPE = 'multipart/form-data'
const LONGEST_BOUNDARY = 200
/** The encodings that change nothing. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
const CLOSING = Buffer.from('--')
const HEADER_END = Buffer.from('\r\n\r\n')

/**
 * The parts of a `multipart/form-data` body in the order of the wire, one at a time: nothing is read ahead of what the
 * consumer asks for, so memory stays flat whatever the form holds. Ending the iteration early releases the body.
 *
 * A part that cannot be understood is an error and never skipped: skipping would lose a file behind a success.
 *
 * @throws HoldfastError `UNSUPPORTED_MEDIA_TYPE` if the body is no form, `VALIDATION` if it is malformed, cut short
 * or over a limit; what the body itself throws passes through.
 */
export async function* readForm(
  request: FormRequest,
  limits: FormLimits = defaultFormLimits,
): AsyncGenerator<FormPart, void, undefined> {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(request.header('content-type'))}`, 'latin1')
  // The first delimiter may open the body, without a line break before it.
  const scanner = new ByteScanner(request.body, cutShort, Buffer.from('\r\n'))
  try {
    await discard(() => scanner.piece(delimiter), limits.maxPaddingBytes)
    for (let index = 1; !(await scanner.peek(2)).equals(CLOSING); index++) {
      if (index > limits.maxParts) throw malformed(`the form has more than ${limits.maxParts} parts`)
      const headers = readHeaders(await headerBlock(scanner, index, limits.maxHeaderBytes), index)
      let ended = false
      const advance = async (): Promise<Uint8Array | undefined> => {
        const piece = ended ? undefined : await scanner.piece(delimiter)
        if (piece === undefined) ended = true
        return piece
      }
      yield { ...headers, content: pieces(advance) }
      while ((await advance()) !== undefined);
    }
    await discard(() => scanner.remainder(), limits.maxPaddingBytes)
  } finally {
    await scanner.release()
  }
}

/** The whole content of a part as text. Throws `VALIDATION`, naming the field, beyond `maxBytes` or if not UTF-8. */
export async function readPartText(part: FormPart, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of part.content) {
    length += chunk.length
    if (length > maxBytes) throw malformed(`field ${quoted(part.name)} is longer than ${maxBytes} bytes`)
    chunks.push(Buffer.from(chunk))
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
  } catch {
    throw malformed(`field ${quoted(part.name)} is not valid UTF-8`)
  }
}

/** A name that the client chose, made short and harmless for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}

async function* pieces(advance: () => Promise<Uint8Array | undefined>): AsyncGenerator<Uint8Array, void, undefined> {
  for (let piece = await advance(); piece !== undefined; piece = await advance()) yield piece
}

async function discard(advance: () => Promise<Uint8Array | undefined>, maxBytes: number): Promise<void> {
  let length = 0
  for (let piece = await advance(); piece !== undefined; piece = await advance()) {
    length += piece.length
    if (length > maxBytes) throw malformed(`the form has more than ${maxBytes} bytes outside its parts`)
  }
}

/** From behind a delimiter to the first byte of the content: the end of the delimiter's line, then header lines. */
async function headerBlock(scanner: ByteScanner, index: number, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (let piece = await scanner.piece(HEADER_END); piece !== undefined; piece = await scanner.piece(HEADER_END)) {
    length += piece.length
    if (length > maxBytes) throw malformed(`the headers of part ${index} of the form exceed ${maxBytes} bytes`)
    chunks.push(Buffer.from(piece))
  }
  return Buffer.concat(chunks).toString('latin1')
}

/** What clients have to write that put names in without looking at them. */
const READABLE =
  'it has to be form-data with a name, a quote in a name written as %22, and filename* percent-encoded UTF-8'

function readHeaders(block: string, index: number): Pick<FormPart, 'name' | 'filename' | 'isFile'> {
  const [padding, ...lines] = block.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  if (padding?.trim() !== '') throw malformed(`the delimiter of part ${index} of the form is malformed`)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, key, value] = /^([^\s:]+)[ \t]*:([^\r\n\0]*)$/.exec(line) ?? []
    if (key === undefined || value === undefined || headers.has(key.toLowerCase())) {
      throw malformed(`the headers of part ${index} of the form are malformed`)
    }
    headers.set(key.toLowerCase(), value.trim())
  }
  const disposition = parseDisposition(headers.get('content-disposition') ?? '')
  if (disposition === null)
    throw malformed(`part ${index} of the form has no readable Content-Disposition: ${READABLE}`)
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase()
  if (encoding !== undefined && !PLAIN_ENCODINGS.has(encoding)) {
    throw malformed(`part ${index} of the form has a Content-Transfer-Encoding, which forms must not have`)
  }
  const octets = /^application\/octet-stream\b/i.test(headers.get('content-type') ?? '')
  return { ...disposition, isFile: disposition.filename !== undefined || octets }
}

function boundaryOf(contentType: string | undefined): string {
  const mark = contentType?.indexOf(';') ?? -1
  const type = mark === -1 ? contentType : contentType?.slice(0, mark)
  if (contentType === undefined || type?.trim().toLowerCase() !== FORM_TYPE) {
    throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${FORM_TYPE}`)
  }
  const boundary = (mark === -1 ? null : readParameters(contentType, mark))?.get('boundary') ?? ''
  if (boundary.length === 0) throw malformed('Content-Type names no multipart boundary')
  if (boundary.length > LONGEST_BOUNDARY) throw malformed('the multipart boundary in Content-Type is too long')
  return boundary
}

function malformed(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

function cutShort(): HoldfastError {
  return malformed('the form ends before its closing boundary')
}

/**
 * Cuts a stream of bytes at delimiters. It pulls: nothing is read from the source before a piece is asked for that
 * the bytes at hand cannot give. Pieces are views of the source's own chunks, which are good until the next one is asked
 * for.
 */
class ByteScanner {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #truncated: () => Error
  #bytes: Buffer
  #ended = false

  /** `truncated` makes the error for a source that ends inside a piece. `head` is put before the source's bytes. */
  constructor(source: AsyncIterable<Uint8Array>, truncated: () => Error, head: Buffer = Buffer.alloc(0)) {
    this.#source = source[Symbol.asyncIterator]()
    this.#truncated = truncated
    this.#bytes = head
  }

  /** The next bytes before `delimiter`, at least one; undefined once the delimiter is reached, which is then passed. */
  async piece(delimiter: Buffer): Promise<Buffer | undefined> {
    for (;;) {
      const at = this.#bytes.indexOf(delimiter)
      if (at > 0) return this.#take(at)
      if (at === 0) {
        this.#take(delimiter.length)
        return undefined
      }
      const safe = this.#bytes.length - overlap(this.#bytes, delimiter)
      if (safe > 0) return this.#take(safe)
      await this.#grow()
    }
  }

  /** The next `length` bytes, left in place. */
  async peek(length: number): Promise<Buffer> {
    while (this.#bytes.length < length) await this.#grow()
    return this.#bytes.subarray(0, length)
  }

  /** Bytes up to the end of the source; undefined there. */
  async remainder(): Promise<Buffer | undefined> {
    if (this.#bytes.length === 0 && !(await this.#pull())) return undefined
    return this.#take(this.#bytes.length)
  }

  /** Closes the source if it has not ended. */
  async release(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#source.return?.()
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }

  async #grow(): Promise<void> {
    if (!(await this.#pull())) throw this.#truncated()
  }

  async #pull(): Promise<boolean> {
    if (this.#ended) return false
    // Of what is at hand here there is never more than may be the beginning of a delimiter.
    this.#bytes = Buffer.from(this.#bytes)
    let next: IteratorResult<Uint8Array>
    try {
      next = await this.#source.next()
    } catch (error) {
      this.#ended = true
      throw error
    }
    if (next.done === true) {
      this.#ended = true
      return false
    }
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    return true
  }
}

/** How many bytes at the end of `bytes` may be the beginning of `delimiter`. */
function overlap(bytes: Buffer, delimiter: Buffer): number {
  const first = delimiter[0] ?? 0
  const from = Math.max(0, bytes.length - delimiter.length + 1)
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1)) {
    const length = bytes.length - at
    if (bytes.compare(delimiter, 0, length, at) === 0) return length
  }
  return 0
}
