import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { ApiRequest } from './api-messages.ts'
import {
  boundaryOf,
  defaultFormLimits,
  type FormLimits,
  malformedForm,
  type PartHeaders,
  quoted,
  readHeaders,
} from './form-headers.ts'

export interface FormPart extends PartHeaders {
  /** Can be read once, before the next part is requested. Each chunk is valid until the next chunk is requested. */
  readonly content: AsyncIterable<Uint8Array>
}

export interface WholePart extends PartHeaders {
  readonly bytes: Buffer
}

export type FormRequest = Pick<ApiRequest, 'body' | 'header'>

const CLOSING = Buffer.from('--')
const HEADER_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

/**
 * Yields the parts of a `multipart/form-data` body. Memory use is constant. If the consumer stops early, the body is
 * closed. A malformed part causes an error, because a skipped file would be lost although the upload succeeds.
 *
 * @throws HoldfastError `UNSUPPORTED_MEDIA_TYPE` if the body is not a form; `VALIDATION` if the form is malformed,
 * truncated or exceeds a limit; also the errors of reading the body
 */
export async function* readForm(
  request: FormRequest,
  limits: FormLimits = defaultFormLimits,
): AsyncGenerator<FormPart, void, undefined> {
  const cutter = new ByteCutter()
  const steps = formSteps(cutter, boundaryOf(request.header('content-type')), limits)
  const source = request.body[Symbol.asyncIterator]()
  let isOpen = true
  const next = async (): Promise<PartHeaders | Buffer | 'ended' | undefined> => {
    for (let step = steps.next(); step.done !== true; step = steps.next()) {
      if (step.value !== 'more') return step.value
      cutter.keep()
      // A source that throws has already closed itself, so `return` must not be called.
      isOpen = false
      const more = await source.next()
      isOpen = more.done !== true
      if (more.done === true) cutter.end()
      else cutter.add(more.value)
    }
    return undefined
  }
  try {
    for (let step = await next(); step !== undefined; step = await next()) {
      // Thousands of small parts can arrive in one chunk.
      if (turnSpent()) await nextTurn()
      let ended = false
      const advance = async (): Promise<Uint8Array | undefined> => {
        const piece = ended ? undefined : await next()
        if (piece instanceof Uint8Array) return piece
        ended = true
        return undefined
      }
      yield { ...(step as PartHeaders), content: pieces(advance) }
      while ((await advance()) !== undefined);
    }
  } finally {
    if (isOpen) await source.return?.()
  }
}

/** Parses a form in memory. The bytes of the parts are views of the form. Throws the errors of {@link readForm}. */
export function* wholeForm(
  body: Uint8Array,
  contentType: string | undefined,
  limits: FormLimits = defaultFormLimits,
): Generator<WholePart, void, undefined> {
  const cutter = new ByteCutter()
  let isGiven = false
  let part: PartHeaders | null = null
  let bytes: Buffer = NOTHING
  for (const step of formSteps(cutter, boundaryOf(contentType), limits)) {
    if (step === 'more') {
      if (isGiven) cutter.end()
      else cutter.add(body)
      isGiven = true
    } else if (step === 'ended') {
      if (part !== null) yield { ...part, bytes }
      bytes = NOTHING
    } else if (step instanceof Uint8Array) bytes = step
    else part = step
  }
}

/** @throws HoldfastError `VALIDATION` if the part is longer than `maxBytes` or is not UTF-8 */
export function partText({ name, bytes }: Pick<WholePart, 'name' | 'bytes'>, maxBytes: number): string {
  if (bytes.length > maxBytes) throw malformedForm(`field ${quoted(name)} is longer than ${maxBytes} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw malformedForm(`field ${quoted(name)} is not valid UTF-8`)
  }
}

/** @throws HoldfastError `VALIDATION` if the part is longer than `maxBytes` or is not UTF-8 */
export async function readPartText(part: FormPart, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of part.content) {
    chunks.push(Buffer.from(chunk))
    length += chunk.length
    if (length > maxBytes) break
  }
  return partText({ name: part.name, bytes: Buffer.concat(chunks) }, maxBytes)
}

async function* pieces(advance: () => Promise<Uint8Array | undefined>): AsyncGenerator<Uint8Array, void, undefined> {
  for (let piece = await advance(); piece !== undefined; piece = await advance()) yield piece
}

/** `more` requests more bytes. `ended` ends the content of a part. */
type FormStep = 'more' | PartHeaders | Buffer | 'ended'

function* formSteps(cutter: ByteCutter, boundary: string, limits: FormLimits): Generator<FormStep, void, undefined> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  yield* padding(cutter, delimiter, limits)
  for (let index = 1; !(yield* startsWithClosing(cutter)); index++) {
    if (index > limits.maxParts) throw malformedForm(`the form has more than ${limits.maxParts} parts`)
    yield readHeaders(yield* headerBlock(cutter, index, limits.maxHeaderBytes), index)
    for (let piece = yield* pieceOf(cutter, delimiter); piece !== null; piece = yield* pieceOf(cutter, delimiter)) {
      yield piece
    }
    yield 'ended'
  }
  yield* padding(cutter, null, limits)
}

function* pieceOf(cutter: ByteCutter, delimiter: Buffer): Generator<'more', Buffer | null, undefined> {
  for (;;) {
    const piece = cutter.cut(delimiter)
    if (piece !== undefined) return piece
    if (cutter.hasEnded) throw malformedForm('the form ends before its closing boundary')
    yield 'more'
  }
}

/** Skips the bytes before the first delimiter, or after the last delimiter if `delimiter` is null. */
function* padding(
  cutter: ByteCutter,
  delimiter: Buffer | null,
  { maxPaddingBytes }: FormLimits,
): Generator<'more', void, undefined> {
  for (let length = 0; ; ) {
    const piece = delimiter === null ? cutter.rest() : yield* pieceOf(cutter, delimiter)
    if (piece === null) return
    length += piece.length
    if (length > maxPaddingBytes)
      throw malformedForm(`the form has more than ${maxPaddingBytes} bytes outside its parts`)
    if (delimiter !== null) continue
    if (cutter.hasEnded) return
    yield 'more'
  }
}

function* startsWithClosing(cutter: ByteCutter): Generator<'more', boolean, undefined> {
  while (cutter.length < CLOSING.length) {
    if (cutter.hasEnded) throw malformedForm('the form ends before its closing boundary')
    yield 'more'
  }
  return cutter.startsWith(CLOSING)
}

/** Returns the rest of the delimiter's line, then the headers of the part. */
function* headerBlock(cutter: ByteCutter, index: number, maxBytes: number): Generator<'more', string, undefined> {
  let block = ''
  for (let piece = yield* pieceOf(cutter, HEADER_END); piece !== null; piece = yield* pieceOf(cutter, HEADER_END)) {
    block += piece.toString('latin1')
    if (block.length > maxBytes)
      throw malformedForm(`the headers of part ${index} of the form exceed ${maxBytes} bytes`)
  }
  return block
}

/** Splits bytes at delimiters. The returned buffers are views, which are valid until the next chunk is added. */
class ByteCutter {
  // A delimiter begins with a line break, which the body may lack before the first delimiter.
  #bytes: Buffer = Buffer.from('\r\n')
  #hasEnded = false

  get length(): number {
    return this.#bytes.length
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  startsWith(bytes: Buffer): boolean {
    return this.#bytes.subarray(0, bytes.length).equals(bytes)
  }

  /** Cuts before the delimiter. Returns null after skipping the delimiter, undefined if more bytes are needed. */
  cut(delimiter: Buffer): Buffer | null | undefined {
    const at = this.#bytes.indexOf(delimiter)
    if (at > 0) return this.#take(at)
    if (at === 0) {
      this.#take(delimiter.length)
      return null
    }
    const safe = this.#bytes.length - overlap(this.#bytes, delimiter)
    return safe > 0 ? this.#take(safe) : undefined
  }

  rest(): Buffer {
    return this.#take(this.#bytes.length)
  }

  /** Copies the available bytes, because the source is about to reuse their memory. */
  keep(): void {
    this.#bytes = Buffer.from(this.#bytes)
  }

  add(piece: Uint8Array): void {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
  }

  end(): void {
    this.#hasEnded = true
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }
}

/** Returns the number of bytes at the end of `bytes` that may be the start of a delimiter. */
function overlap(bytes: Buffer, delimiter: Buffer): number {
  const first = delimiter[0] ?? 0
  const from = Math.max(0, bytes.length - delimiter.length + 1)
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1)) {
    const length = bytes.length - at
    if (bytes.compare(delimiter, 0, length, at) === 0) return length
  }
  return 0
}
