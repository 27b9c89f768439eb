import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { loopTime } from '../../src/concurrency/turns.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

export const IDLE_MS = 120_000

/** The minimum rate of a body, averaged over periods of `spanMs` during which the server waits for data. */
export interface BodyPace {
  bytesPerSecond: number
  spanMs: number
}

const PACE: BodyPace = { bytesPerSecond: 512, spanMs: IDLE_MS }

/** Handing over a chunk has a fixed cost, so smaller chunks are joined. */
const PIECE_BYTES = 256 * 1024

/** Size up to which a body may be read at once. Node buffers this many bytes before the body is read. */
const SMALL_BYTES = 64 * 1024

// Timeouts of HTTP wait for clients and sockets, so they run in real time. The clock of the engine may be a manual one.

/** Gives up a socket without progress for `ms`. Returns a function that restores its timeout. */
export function idleTimeout(socket: Socket | null, ms: number): () => void {
  const before = socket?.timeout ?? 0
  socket?.setTimeout(ms)
  return () => socket?.setTimeout(before)
}

/** Calls `late` after `ms`, counted again from each refresh, unless it is cancelled. Does not keep the process alive. */
export function deadline(ms: number, late: () => void): { refresh(): void; cancel(): void } {
  const timer = setTimeout(late, ms).unref()
  return { refresh: () => void timer.refresh(), cancel: () => clearTimeout(timer) }
}

/**
 * Yields the body. Throws if the client sends too slowly. Calls `invite` before the first read, and `abort` if the read
 * fails.
 */
export async function* bodyOf(
  incoming: IncomingMessage,
  invite: () => void,
  abort: () => void,
  pace: BodyPace = PACE,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (incoming.readableDidRead) {
    const before = 'the body was read before it reached Holdfast, which belongs before whatever parses bodies'
    throw new HoldfastError('VALIDATION', before)
  }
  invite()
  const restoreTimeout = idleTimeout(incoming.socket, IDLE_MS)
  try {
    yield* inPace(bodyPieces(incoming), pace)
  } catch (error) {
    abort()
    throw error
  } finally {
    restoreTimeout()
  }
}

/** Returns null, without reading, unless the body is small and has arrived with the headers. */
export async function arrivedBodyOf(incoming: IncomingMessage): Promise<Uint8Array | null> {
  if (!(Number(incoming.headers['content-length']) <= SMALL_BYTES)) return null
  // Node emits the request before it parses the bytes after the headers.
  if (!incoming.complete) await new Promise<void>(setImmediate)
  if (!incoming.complete || incoming.readableDidRead || incoming.readableLength === 0) return null
  return incoming.read() as Buffer | null
}

/** Counts only the time spent waiting for data, so that a slow consumer causes no error. */
async function* inPace(
  chunks: AsyncIterable<Uint8Array>,
  { bytesPerSecond, spanMs }: BodyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  let waited = 0
  let bytes = 0
  let asked = loopTime()
  for await (const chunk of chunks) {
    waited += loopTime() - asked
    bytes += chunk.byteLength
    if (waited >= spanMs) {
      if (bytes * 1_000 < bytesPerSecond * waited) {
        throw new HoldfastError('VALIDATION', `the body arrives too slowly: below ${bytesPerSecond} bytes a second`)
      }
      waited = 0
      bytes = 0
    }
    yield chunk
    asked = loopTime()
  }
}

/**
 * Yields all bytes that have arrived since the previous chunk. Each read frees the memory of the previous chunk.
 *
 * Nothing is read before the first `next`. If the body is not read to its end, the rest is discarded after the
 * response.
 */
export async function* bodyPieces(incoming: Readable): AsyncGenerator<Uint8Array, void, undefined> {
  const arrivals = new Arrivals(incoming)
  try {
    for (let piece = await arrivals.next(); piece !== null; piece = await arrivals.next()) {
      yield piece
      free(piece)
    }
  } finally {
    arrivals.leave()
  }
}

class Arrivals {
  readonly #incoming: Readable
  #chunks: Buffer[] = []
  #bytes = 0
  #end: { error: Error | null } | null = null
  #wake: (() => void) | null = null
  #waking: NodeJS.Immediate | null = null

  constructor(incoming: Readable) {
    this.#incoming = incoming
    if (incoming.destroyed) this.#onClose()
    incoming.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
  }

  /** Waits for at least one byte. Returns null at the end of the body. */
  async next(): Promise<Buffer | null> {
    if (this.#bytes === 0 && this.#end === null) {
      await new Promise<void>(wake => {
        this.#wake = wake
      })
    }
    const chunks = this.#chunks
    if (chunks.length > 0) {
      this.#chunks = []
      this.#bytes = 0
      if (this.#end === null) this.#incoming.resume()
      return joined(chunks)
    }
    if (this.#end !== null && this.#end.error !== null) throw this.#end.error
    return null
  }

  leave(): void {
    const incoming = this.#incoming.off('data', this.#onData).off('end', this.#onEnd)
    incoming.off('error', this.#onError).off('close', this.#onClose)
    if (this.#end === null) incoming.pause()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk)
    this.#bytes += chunk.byteLength
    if (this.#bytes >= PIECE_BYTES) {
      this.#incoming.pause()
      this.#wakeNow()
    } else if (this.#wake !== null) {
      // The socket may have more data, which Node reads before the immediate runs.
      this.#waking ??= setImmediate(this.#wakeNow)
    }
  }

  readonly #onEnd = (): void => {
    this.#end ??= { error: null }
    this.#wakeNow()
  }

  readonly #onError = (error: Error): void => {
    this.#end ??= { error }
    this.#wakeNow()
  }

  readonly #onClose = (): void => {
    this.#onError(new Error('the request was cut short'))
  }

  readonly #wakeNow = (): void => {
    if (this.#waking !== null) clearImmediate(this.#waking)
    this.#waking = null
    this.#wake?.()
    this.#wake = null
  }
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1) return first
  const piece = Buffer.allocUnsafeSlow(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0))
  let length = 0
  for (const chunk of chunks) {
    piece.set(chunk, length)
    length += chunk.byteLength
    free(chunk)
  }
  return piece
}

function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
