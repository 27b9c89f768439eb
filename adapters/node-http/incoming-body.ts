import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Longest silence of a client whose body is awaited, in milliseconds. */
export const IDLE_MS = 120_000

/** Minimum rate of a body, on average over each span of waiting. */
export interface BodyPace {
  bytesPerSecond: number
  spanMs: number
}

const PACE: BodyPace = { bytesPerSecond: 512, spanMs: IDLE_MS }

/** Largest piece. Handing over a piece costs as much as copying a good part of it. */
const PIECE_BYTES = 256 * 1024

/** Bodies up to this size may arrive whole before they are read: Node buffers as much. */
const SMALL_BYTES = 64 * 1024

/** Yields the body of a request, and fails if the client sends too slowly. Calls `invite` before the first read. */
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

/** Returns the body of a request if it is small and arrived with the headers; otherwise null, with nothing read. */
export async function arrivedBodyOf(incoming: IncomingMessage): Promise<Uint8Array | null> {
  if (!(Number(incoming.headers['content-length']) <= SMALL_BYTES)) return null
  // Node reports the headers before it parses the bytes after them.
  if (!incoming.complete) await new Promise<void>(setImmediate)
  if (!incoming.complete || incoming.readableDidRead || incoming.readableLength === 0) return null
  return incoming.read() as Buffer | null
}

/** Counts only the time of waiting, since the client is not to blame for slow consumers. */
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
 * Yields the bytes of a request's body; a piece is everything that has arrived since the last one. The next read frees
 * the memory of a piece, without waiting for the garbage collector.
 *
 * Reads nothing before the first call. A body that is not read to its end stays open, and is drained after the answer.
 *
 * @throws the error of the request, such as a client that goes away
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

/** Bytes that have arrived and are not read yet. */
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

  /** Returns the bytes that have arrived, or waits for the next; null at the end. */
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
      // The socket may have more, which arrives before this runs.
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

/** Frees memory that belongs to the piece alone. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
