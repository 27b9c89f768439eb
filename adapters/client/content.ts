import { uriOfText } from '../../src/domain/byte-text.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { type Connection, isDots, RETRY_MS } from './connection.ts'
import type { Answer } from './exchange.ts'
import { waitFor } from './idle-timer.ts'

/** Options for reading content. */
export interface ReadOptions {
  /** Bytes from `start` up to but not including `end`. Default: all bytes. */
  range?: { start: number; end?: number }
  /** Aborts the request and the stream, which then fail with `ABORTED`. */
  signal?: AbortSignal
}

/** Bytes that can be read once, as a web stream or by `for await`. */
export type ContentBytes = ReadableStream<Uint8Array<ArrayBuffer>> & AsyncIterable<Uint8Array>

/** A file from the gateway. */
export interface ContentFile {
  size: number | null
  type: string
  /** Fails with `UNAVAILABLE` if it breaks off and cannot resume. */
  stream: ContentBytes
}

/** Reads content by CID from the gateway. Only private content needs a credential, of its account. */
export class Content {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Opens a file: `CID`, `CID/path`, `/ipfs/CID/path` or `ipfs://CID/path`. If the connection breaks, reading resumes
   * at the next byte.
   *
   * @throws HoldfastError `VALIDATION` for a directory
   * @example const { stream, type } = await client.content.file(`${cid}/index.html`)
   */
  async file(place: string, { range, signal }: ReadOptions = {}): Promise<ContentFile> {
    const { start = 0, end } = range ?? {}
    const wanted = range === undefined ? {} : { range: rangeHeader(start, end) }
    const path = pathOf(place)
    const left = new AbortController()
    const ended = endOf(left, signal)
    const answer = await this.#connection
      .content(path, { headers: { accept: '*/*', ...wanted }, signal: ended })
      .catch((error: unknown) => {
        if (!isHoldfastError(error) || error.details.status !== 301) throw error
        const instead = 'name a file in it, or read it as an archive (on the command line: get --tar)'
        throw new HoldfastError('VALIDATION', `${place} is a directory: ${instead}`, { cause: error })
      })
    const { headers, status } = answer.response
    if (range !== undefined && status !== 206) {
      await answer.discard()
      throw new HoldfastError('UNAVAILABLE', 'the server does not support ranges')
    }
    const length = Number(headers.get('content-length') ?? Number.NaN)
    const size = Number.isSafeInteger(length) && !headers.has('content-encoding') ? length : null
    const stream = webStream(this.#whole(answer, { path, start, size, signal: ended }), answer, left)
    return { size, type: headers.get('content-type') ?? '', stream }
  }

  /**
   * Opens the DAG below a CID as a CAR, or a file or directory as a TAR.
   * @example await pipeline(await client.content.archive(cid, 'car'), createWriteStream('site.car'))
   */
  async archive(place: string, form: 'car' | 'tar', signal?: AbortSignal): Promise<ContentBytes> {
    const query = form === 'tar' ? { format: 'tar' } : { format: 'car', 'dag-scope': 'all', 'car-dups': 'n' }
    const accept = form === 'tar' ? 'application/x-tar' : 'application/vnd.ipld.car'
    const left = new AbortController()
    const options = { query, headers: { accept }, signal: endOf(left, signal) }
    const answer = await this.#connection.content(pathOf(place), options)
    return webStream(answer.bytes(), answer, left)
  }

  async *#whole(
    first: Answer,
    { path, start, size, signal }: { path: string; start: number; size: number | null; signal: AbortSignal },
  ): AsyncGenerator<Uint8Array, void> {
    const etag = first.response.headers.get('etag') ?? ''
    // A strong ETag proves that the bytes have not changed.
    const mayGoOn = size !== null && etag.startsWith('"')
    let pauses = [...RETRY_MS]
    let given = 0
    for (let answer = first; ; ) {
      try {
        for await (const piece of answer.bytes()) {
          given += piece.length
          pauses = [...RETRY_MS]
          yield piece
        }
        return
      } catch (error) {
        const pause = pauses.shift()
        if (!mayGoOn || pause === undefined || !isHoldfastError(error, 'UNAVAILABLE')) throw error
        if (given === size) return
        await waitFor(this.#connection.settings.wait, pause, signal)
        const headers = { accept: '*/*', range: rangeHeader(start + given, start + size), 'if-range': etag }
        answer = await this.#connection.content(path, { headers, signal })
        if (answer.response.status !== 206) {
          await answer.discard()
          throw error
        }
      }
    }
  }
}

function endOf(left: AbortController, signal: AbortSignal | undefined): AbortSignal {
  return signal === undefined ? left.signal : AbortSignal.any([left.signal, signal])
}

/** Returns a stream that reads only on demand. A cancelled stream ends its pending read by `left`. */
function webStream(bytes: AsyncGenerator<Uint8Array, void>, answer: Answer, left: AbortController): ContentBytes {
  let hasBegun = false
  let isReading = false
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        hasBegun = true
        isReading = true
        const { done, value } = await bytes.next()
        isReading = false
        if (done) controller.close()
        // The bytes of a response are not shared memory.
        else controller.enqueue(value as Uint8Array<ArrayBuffer>)
      },
      async cancel() {
        // A generator ends only after its pending read, which a stalled server never answers.
        if (isReading) left.abort()
        await bytes.return()
        // A generator that has not begun runs no code at its end, so the answer would stay open.
        if (!hasBegun) await answer.discard()
      },
    },
    { highWaterMark: 0 },
  )
  // Some browsers cannot iterate a stream.
  return Symbol.asyncIterator in stream ? stream : Object.assign(stream, { [Symbol.asyncIterator]: () => bytes })
}

function rangeHeader(start: number, end: number | undefined): string {
  if (!Number.isSafeInteger(start) || start < 0 || (end !== undefined && !(end > start))) {
    throw new HoldfastError('VALIDATION', 'a range must go from a whole number of bytes to a larger one')
  }
  return `bytes=${start}-${end === undefined ? '' : end - 1}`
}

function pathOf(place: string): string {
  const names = place.replace(/^(ipfs:\/\/|\/ipfs\/)/, '').split('/')
  const path = names.filter(name => name !== '').map(uriOfText)
  if (path.length === 0) throw new HoldfastError('VALIDATION', 'a CID is needed')
  // A URL resolves these names, and would lead to other routes of the server.
  if (names.some(isDots)) throw new HoldfastError('INVALID_PATH', 'a path of content has no . or .. in it')
  return `/${path.join('/')}`
}
