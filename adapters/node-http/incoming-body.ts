import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { HoldfastError } from '../../src/domain/errors.ts'

/** A client that sends nothing for this long while its body is waited for is gone. */
export const IDLE_MS = 120_000

/** What a body has to bring while it is waited for: over each span of waiting so much on average. */
export interface BodyPace {
  bytesPerSecond: number
  spanMs: number
}

const PACE: BodyPace = { bytesPerSecond: 512, spanMs: IDLE_MS }

/** From here on nothing more is taken from the socket. To hand on a piece costs as much as to copy a good part of it. */
const PIECE_BYTES = 256 * 1024

/** Bodies of so many bytes may be here whole before anybody asks for them: what Node holds ready of one. */
const SMALL_BYTES = 64 * 1024

/** The body of a request, whose client has to bring it at some pace. `invite` is called before the first byte is read. */
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

/** The body of a request, if it is small and has come with the headers; null otherwise, and then none of it is read. */
export async function arrivedBodyOf(incoming: IncomingMessage): Promise<Uint8Array | null> {
  if (!(Number(incoming.headers['content-length']) <= SMALL_BYTES)) return null
  // Node tells of the headers before it looks at what has come behind them.
  if (!incoming.complete) await new Promise<void>(setImmediate)
  if (!incoming.complete || incoming.readableDidRead || incoming.readableLength === 0) return null
  return incoming.read() as Buffer | null
}

/** Only the waiting counts: how long the chunks are worked on is not the client's doing. */
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
        throw new HoldfastError('VALIDATION', `the body comes too slowly: below ${bytesPerSecond} bytes a second`)
      }
      waited = 0
      bytes = 0
    }
    yield chunk
    asked = performance.now()
  }
}

/**
 * The bytes of a request's body in their order, a piece being what has arrived since the one before. A piece is good
 * until the next one is asked for: its memory is free then, and not when the garbage collector comes round.
 *
 * Nothing is read before the first is asked for. A body that is not read to its end stays open: what is left of it is
 * drained after the answer.
 *
 * @throws what the request fails with, as one whose client goes away
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

/** What a request has brought and nobody has taken yet. */
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

  /** What has arrived by now, or arrives next; null at the end. */
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
      // The socket may have more, which is read before the loop comes to this.
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

/** Gives back memory that the piece has to itself. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
