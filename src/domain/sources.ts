import { Readable } from 'node:stream'
import { HoldfastError } from './errors.ts'
import type { WebStream } from './web-stream.ts'

/** A piece of content. A string stands for its UTF-8 bytes. */
export type Bytes = ArrayBufferView | ArrayBufferLike | string

/**
 * Source of content: bytes, a text, a stream of either, or an object with a body. A stream may be a Node.js stream, a
 * web stream or any other iterable. An object with a body is a `Blob`, `File`, `Request` or `Response`.
 */
export type ByteSource =
  | Bytes
  | Iterable<Bytes>
  | AsyncIterable<Bytes>
  | WebStream
  | { stream(): WebStream }
  | { readonly body: WebStream | null; readonly bodyUsed: boolean }

export interface ReadOptions {
  name: string
  signal?: AbortSignal | undefined
}

/**
 * Yields the bytes of a source. Closes the source if the consumer stops early.
 * @throws HoldfastError `VALIDATION` if the source is not a {@link ByteSource}, or is a stream that has been read, has
 * ended or is locked. Other iterables do not tell.
 */
export async function* bytesOf(source: ByteSource, { name, signal }: ReadOptions): AsyncGenerator<Uint8Array> {
  const text = new TextPieces()
  for await (const piece of interruptible(piecesOf(source, name), signal)) {
    const bytes = typeof piece === 'string' ? text.encode(piece) : view(piece)
    if (bytes === null) throw invalid(name, `yields ${kindOf(piece)} where bytes or text are expected`)
    yield bytes
  }
  const rest = text.end()
  if (rest.length > 0) yield rest
}

function piecesOf(source: unknown, name: string): Iterable<unknown> | AsyncIterable<unknown> {
  if (typeof source === 'string' || view(source) !== null) return singly(source)
  if (typeof source !== 'object' || source === null) throw invalid(name, `is ${kindOf(source)}, not bytes`)
  if (isSpent(source)) throw invalid(name, 'is a stream that has been read or has ended')
  if ('getReader' in source && typeof source.getReader === 'function') return chunksOf(source as WebStream, name)
  if (Symbol.asyncIterator in source) return source as AsyncIterable<unknown>
  if (Symbol.iterator in source) return source as Iterable<unknown>
  if ('body' in source && 'bodyUsed' in source) {
    if (source.bodyUsed === true) throw invalid(name, 'has a body that has been read')
    return source.body === null ? [] : piecesOf(source.body, name)
  }
  if ('stream' in source && typeof source.stream === 'function') return piecesOf(source.stream(), name)
  throw invalid(name, `is ${kindOf(source)}, not bytes`)
}

/** Returns whether a stream has been read from, or is over. The bytes that it would still yield are not the content. */
function isSpent(source: object): boolean {
  const { readableDidRead, readableEnded, destroyed } = source as Partial<Readable>
  if (readableDidRead === true || readableEnded === true || destroyed === true) return true
  return Readable.isDisturbed(source as Readable)
}

function* singly(piece: unknown): Iterable<unknown> {
  yield piece
}

async function* chunksOf(stream: WebStream, name: string): AsyncGenerator<unknown> {
  const reader = readerOf(stream, name)
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

function readerOf(stream: WebStream, name: string): ReturnType<WebStream['getReader']> {
  try {
    return stream.getReader()
  } catch (cause) {
    throw invalid(name, 'is a stream that something else reads', cause)
  }
}

function view(piece: unknown): Uint8Array | null {
  if (piece instanceof Uint8Array) return piece
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)
  return piece instanceof ArrayBuffer || piece instanceof SharedArrayBuffer ? new Uint8Array(piece) : null
}

/** Encodes a text that arrives in pieces. A piece may end between the two halves of a surrogate pair. */
class TextPieces {
  readonly #encoder = new TextEncoder()
  #half = ''

  encode(piece: string): Uint8Array {
    const text = this.#half + piece
    const last = text.charCodeAt(text.length - 1)
    const isHalf = last >= 0xd800 && last < 0xdc00
    this.#half = isHalf ? text.slice(-1) : ''
    return this.#encoder.encode(isHalf ? text.slice(0, -1) : text)
  }

  end(): Uint8Array {
    return this.#encoder.encode(this.#half)
  }
}

function invalid(name: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('VALIDATION', `${name} ${problem}`, { cause })
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  return `an object (${value.constructor?.name ?? 'without a prototype'})`
}

/** Copies the pieces of a source that reuses their memory. */
export async function* copied(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of source) yield Buffer.from(piece)
}

/**
 * Reads a whole source. If it has more than `most` bytes, closes it and returns null. The source must not reuse the
 * memory of its pieces.
 */
export async function wholeUpTo(source: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | null> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of source) {
    length += piece.length
    if (length > most) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/**
 * Yields the items of a source. If the signal aborts, throws its reason immediately, even if the source has stalled.
 * Closes the source if the consumer stops early.
 */
export async function* interruptible<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  // Promise.race with one promise for the abort would keep every piece in memory for the lifetime of the signal.
  let refuse: (reason: unknown) => void = () => undefined
  const abort = (): void => refuse(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  let state: 'asking' | 'between' | 'ended' = 'between'
  try {
    for (;;) {
      signal?.throwIfAborted()
      state = 'asking'
      const { done, value } = await new Promise<IteratorResult<T>>((resolve, reject) => {
        refuse = reject
        Promise.resolve(pieces.next()).then(resolve, reject)
      })
      state = done === true ? 'ended' : 'between'
      if (done === true) return
      yield value
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    if (state !== 'ended') {
      const closed = Promise.resolve(pieces.return?.()).catch(() => undefined)
      // A stalled source closes only when its next piece arrives, so do not wait for that close.
      if (state === 'between') await closed
    }
  }
}

export async function orAborted<T>(promise: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Reads up to `ahead` items in advance. If the source fails, yields the items before the error first. If the consumer
 * stops early, it does not wait for a stalled source, which is closed at its next item.
 */
export async function* readAhead<T>(source: AsyncIterable<T>, ahead: number): AsyncGenerator<T> {
  const items: T[] = []
  let ended = false
  let failure: { error: unknown } | null = null
  let left = false
  let roomThere = (): void => undefined
  let itemThere = (): void => undefined

  const read = async (): Promise<void> => {
    try {
      for await (const item of source) {
        items.push(item)
        itemThere()
        while (items.length >= ahead && !left) {
          await new Promise<void>(resolve => {
            roomThere = resolve
          })
        }
        if (left) return
      }
    } catch (error) {
      failure = { error }
    } finally {
      ended = true
      itemThere()
    }
  }

  void read()
  try {
    for (;;) {
      while (items.length > 0) {
        const [item] = items.splice(0, 1) as [T]
        roomThere()
        yield item
      }
      if (ended) break
      await new Promise<void>(resolve => {
        itemThere = resolve
      })
    }
    if (failure !== null) throw (failure as { error: unknown }).error
  } finally {
    left = true
    roomThere()
  }
}
