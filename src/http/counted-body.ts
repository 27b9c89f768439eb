import { sharedTurn } from '../concurrency/turns.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ApiRequest } from './api-messages.ts'

/**
 * Counts the bytes of a body and compares them with `Content-Length`. Refuses a `Content-Encoding`, because the encoded
 * bytes would be stored under the wrong CID.
 */
export class CountedBody implements AsyncIterable<Uint8Array> {
  readonly #request: ApiRequest
  #bytes = 0

  constructor(request: ApiRequest) {
    this.#request = request
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns {@link ApiRequest.arrived}. Throws the same errors as the iteration. */
  async arrived(): Promise<Uint8Array | null> {
    const body = (await this.#request.arrived?.()) ?? null
    if (body === null) return null
    const declared = contentLength(this.#request) ?? null
    this.#take(body, declared)
    this.#end(declared)
    return body
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const declared = contentLength(this.#request) ?? null
    for await (const chunk of this.#request.body) {
      this.#take(chunk, declared)
      yield chunk
      // Without turns, one round of the loop would read a piece from each of a crowd's connections.
      await sharedTurn(this.#request.signal)
    }
    this.#end(declared)
  }

  #take(chunk: Uint8Array, declared: number | null): void {
    if (this.#bytes === 0 && chunk.length > 0) requirePlain(this.#request.header('content-encoding'))
    this.#bytes += chunk.length
    if (declared !== null && this.#bytes > declared) throw mismatch('longer', declared)
  }

  #end(declared: number | null): void {
    if (declared !== null && this.#bytes < declared) throw mismatch('shorter', declared)
  }
}

function requirePlain(encoding: string | undefined): void {
  if (encoding === undefined || encoding.trim() === '' || encoding.trim().toLowerCase() === 'identity') return
  throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', 'Content-Encoding is not supported: send the body without it')
}

function mismatch(how: 'longer' | 'shorter', declared: number): HoldfastError {
  return new HoldfastError('VALIDATION', `the body is ${how} than its Content-Length of ${declared}`)
}

/** @throws HoldfastError `VALIDATION` if the header is not a number */
export function contentLength(request: ApiRequest): number | undefined {
  const header = request.header('content-length')
  if (header === undefined) return undefined
  if (!/^\d+$/.test(header.trim())) throw new HoldfastError('VALIDATION', 'Content-Length is not a number')
  return Number(header)
}
