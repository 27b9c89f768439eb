import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Time in ms after which a connection without any traffic is closed while a body is being transferred. */
export const IDLE_MS = 120_000

/**
 * The minimum rate at which a client must send a body. The rate is an average over periods of `spanMs` during which the
 * server waits for data.
 */
export interface BodyPace {
  bytesPerSecond: number
  spanMs: number
}

const PACE: BodyPace = { bytesPerSecond: 512, spanMs: IDLE_MS }

/**
 * Size in bytes from which a chunk is handed over without waiting for more data. Small chunks are joined, because
 * handing over a chunk has a fixed cost.
 */
const PIECE_BYTES = 256 * 1024

/** Size in bytes up to which a body may be read at once. Node buffers this many bytes before the body is read. */
const SMALL_BYTES = 64 * 1024

/**
 * Yields the body of a request, and throws if the client sends too slowly. Calls `invite` before the first read, and
 * `abort` if the read fails.
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
  const { socket } = incoming
  const timeout = socket.timeout ?? 0
  invite()
  socket.setTimeout(IDLE_MS)
  try {
    yield* inPace(bodyPieces(incoming), pace)
  } catch (error) {
    abort()
    throw error
  } finally {
    socket.setTimeout(timeout)
  }
}

/**
 * Returns the body of a request if the body is small and has arrived with the headers. Otherwise reads nothing and
 * returns null.
 */
export async function arrivedBodyOf(incoming: IncomingMessage): Promise<Uint8Array | null> {
  if (!(Number(incoming.headers['content-length']) <= SMALL_BYTES)) return null
  // Node emits the request before it parses the bytes after the headers, so wait for the next round of the event loop.
  if (!incoming.complete) await new Promise<void>(setImmediate)
  if (!incoming.complete || incoming.readableDidRead || incoming.readableLength === 0) return null
  return incoming.read() as Buffer | null
}

/**
 * Yields the chunks and throws if the client sends too slowly. Only the time spent waiting for data counts, so that a
 * slow consumer does not cause the error.
 */
async function* inPace(
  chunks: AsyncIterable<Uint8Array>,
  { bytesPerSecond, spanMs }: BodyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  let waited = 0
  let bytes = 0
  let asked = performance.now()
  for await (const chunk of chunks) {
    waited += performance.now() - asked
    bytes += chunk.byteLength
    if (waited >= spanMs) {
      if (bytes * 1_000 < bytesPerSecond * waited) {
        throw new HoldfastError('VALIDATION', `the body arrives too slowly: below ${bytesPerSecond} bytes a second`)
      }
      waited = 0
      bytes = 0
    }
    yield chunk
    asked = performance.now()
  }
}

/**
 * Yields the bytes of a request body. Each chunk contains all bytes that have arrived since the previous chunk. The
 * next read frees the memory of the previous chunk without waiting for the garbage collector.
 *
 * Nothing is read before the first call of `next`. A body that is not read to its end stays open. The rest of such a
 * body is discarded after the response.
 *
 * @throws the error of the request, for example because the client has disconnected
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

/** A buffer of the bytes that have arrived and have not been read. */
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

  /**
   * Returns all bytes that have arrived. If there are none, waits for the next bytes. Returns null at the end of the
   * body.
   */
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
      // The socket may have more data. Node reads that data before the immediate runs.
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

/** Frees the memory of a chunk if nothing else uses its buffer. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
