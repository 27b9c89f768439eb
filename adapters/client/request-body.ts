import { HoldfastError } from '../../src/domain/errors.ts'
import type { WebStream } from '../../src/domain/web-stream.ts'

/** Bytes that can be read more than once, such as a `Blob` or a `File`. */
export interface SizedSource {
  /** In bytes. */
  readonly size: number
  stream(): WebStream | AsyncIterable<Uint8Array>
}

/** Content to upload, such as a `File` or a web stream of bytes. Text is encoded as UTF-8. */
export type UploadSource = string | Uint8Array | ArrayBuffer | SizedSource | WebStream | AsyncIterable<Uint8Array>

/** One part of a body. */
export type BodyPart = Uint8Array | SizedSource | WebStream | AsyncIterable<Uint8Array>

/** A body that the client sends part by part. */
export interface RequestBody {
  type: string
  parts: readonly BodyPart[]
  /** Receives the number of bytes passed to `fetch` so far. */
  onProgress?: ((bytes: number) => void) | undefined
}

/** Minimum size of a piece to send. Smaller pieces are joined. */
const PIECE_BYTES = 64 * 1024

/** @throws HoldfastError `VALIDATION` for an unsupported source */
export function bodyPart(source: UploadSource): BodyPart {
  if (typeof source === 'string') return new TextEncoder().encode(source)
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  const isObject = typeof source === 'object' && source !== null
  if (isObject && (source instanceof Uint8Array || isSized(source) || isStream(source))) return source
  throw new HoldfastError('VALIDATION', 'the source must be text, bytes, a Blob or a stream of bytes')
}

/** Omits undefined fields. */
export function jsonBody(value: object): RequestBody {
  return { type: 'application/json', parts: [new TextEncoder().encode(JSON.stringify(value))] }
}

/** Returns null if the length is unknown before sending. */
export function bodyLength({ parts }: RequestBody): number | null {
  let length = 0
  for (const part of parts) {
    if (part instanceof Uint8Array) length += part.length
    else if (isSized(part)) length += part.size
    else return null
  }
  return length
}

export function isRepeatable(body: RequestBody): boolean {
  return bodyLength(body) !== null
}

/**
 * Joins pieces until they have at least 64 KiB.
 *
 * @throws HoldfastError `VALIDATION` if a source does not have its declared length
 */
export async function* bodyBytes({ parts, onProgress }: RequestBody): AsyncGenerator<Uint8Array, void> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let sent = 0
  for (const part of parts) {
    for await (const piece of piecesOf(part)) {
      waiting.push(piece)
      bytes += piece.length
      if (bytes < PIECE_BYTES) continue
      yield joined(waiting, bytes)
      sent += bytes
      onProgress?.(sent)
      waiting = []
      bytes = 0
    }
  }
  if (bytes === 0) return
  yield joined(waiting, bytes)
  onProgress?.(sent + bytes)
}

/** Returns a Blob whose files a browser reads only while it sends them. */
export async function bodyBlob({ type, parts }: RequestBody): Promise<Blob> {
  const pieces: (Uint8Array<ArrayBuffer> | Blob)[] = []
  for (const part of parts) {
    if (part instanceof Blob) pieces.push(part)
    else for await (const piece of piecesOf(part)) pieces.push(new Uint8Array(piece))
  }
  return new Blob(pieces, { type })
}

async function* piecesOf(part: BodyPart): AsyncGenerator<Uint8Array, void> {
  if (part instanceof Uint8Array) {
    yield part
    return
  }
  if (!isSized(part)) {
    yield* bytesOfStream(part)
    return
  }
  let read = 0
  for await (const piece of bytesOfStream(part.stream())) {
    read += piece.length
    if (read > part.size) break
    yield piece
  }
  if (read !== part.size) throw new HoldfastError('VALIDATION', `a source of ${part.size} bytes has changed its length`)
}

function isStream(source: object): source is WebStream | AsyncIterable<Uint8Array> {
  return Symbol.asyncIterator in source || ('getReader' in source && typeof source.getReader === 'function')
}

/** Yields the bytes of a stream. Streams of Node.js may yield text, which a request body would contain as zeros. */
async function* bytesOfStream(stream: WebStream | AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of 'getReader' in stream ? chunksOf(stream) : stream) {
    if (!(piece instanceof Uint8Array)) throw new HoldfastError('VALIDATION', 'the source must be a stream of bytes')
    yield piece
  }
}

/** Reads a web stream by its reader, because some browsers cannot iterate it. */
async function* chunksOf(stream: WebStream): AsyncGenerator<unknown, void> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function isSized(source: object): source is SizedSource {
  return 'size' in source && typeof source.size === 'number' && 'stream' in source
}

function joined([first = new Uint8Array(), ...others]: readonly Uint8Array[], length: number): Uint8Array {
  if (others.length === 0) return first
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of [first, ...others]) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
