import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Dispatcher } from 'undici'

/** A response whose body has no content coding. */
export interface HttpResponse extends Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'trailers'> {
  body: Readable
}

/** A server answers with a content coding that this node cannot decode. */
class ContentCodingError extends Error {}

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}
/** Maximum number of codings of a response, because each has a window in memory. */
const MOST_CODINGS = 2

/**
 * Decodes the body, for a server that sends a content coding although the request accepts none (RFC 9110, section 8.4).
 * Removes the headers that describe the coded body. The reader of the body bounds its bytes.
 *
 * @throws ContentCodingError for an unknown coding. The body of a broken coding throws an error of zlib.
 */
export function withoutCoding(response: HttpResponse, isHead: boolean): HttpResponse {
  const { 'content-encoding': given, 'content-length': _, ...headers } = response.headers
  const codings = [given ?? []].flat().flatMap(value => value.toLowerCase().split(','))
  // Some servers mark a gzip file so, because of its name.
  const isGzipFile = /^application\/(x-)?gzip\b/i.test(String(headers['content-type'] ?? ''))
  const none = ['', 'identity', ...(isGzipFile ? ['gzip', 'x-gzip'] : [])]
  const names = codings.map(name => name.trim()).filter(name => !none.includes(name))
  if (names.length === 0) return response
  if (isHead) return { ...response, headers }
  const decoders = names.reverse().flatMap(name => DECODERS[name] ?? [])
  if (decoders.length < names.length || decoders.length > MOST_CODINGS) {
    response.body.on('error', () => undefined).destroy()
    throw new ContentCodingError('sends an unknown Content-Encoding')
  }
  const body = decoders.reduce<Readable>((coded, decoder) => {
    // The reader of the decoded body gets the error.
    return pipeline(coded, decoder(), () => undefined)
  }, response.body)
  return { statusCode: response.statusCode, headers, trailers: response.trailers, body }
}

/** Returns whether a response failed because of its content coding. */
export function isCodingFailure(error: unknown): boolean {
  if (error instanceof ContentCodingError) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(Z_|ZSTD_|ERR_BROTLI|ERR__ERROR)/.test(code)
}
