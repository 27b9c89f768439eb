import { pipeline, type Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { HoldfastError } from '../domain/errors.ts'

/** A response whose body has no content coding. */
export interface HttpResponse extends Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'trailers'> {
  body: Readable
}

/** A server answers with a content coding that this node cannot decode. */
class ContentCodingError extends Error {}

/** Largest window of zstd as a power of two, which RFC 9659 allows in HTTP. By default, a window may have 128 MiB. */
const ZSTD_WINDOW = 23

interface Decoder {
  open: () => NodeJS.ReadWriteStream & Readable
  /** True if the window may have 8 or 16 MiB. Others have 32 KiB. */
  isWide: boolean
}

const gunzip: Decoder = { open: createGunzip, isWide: false }
const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: { open: createInflate, isWide: false },
  br: { open: createBrotliDecompress, isWide: true },
  zstd: {
    open: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW } }),
    isWide: true,
  },
}
/** Maximum number of wide windows in the process. A server fills a window with a few bytes, and can then be slow. */
const MOST_WIDE = 4
const RETRY_SECONDS = 10
let wide = 0

/** Maximum number of codings of a response, because each has a window in memory. */
const MOST_CODINGS = 2

/**
 * Decodes the body, for a server that sends a content coding although the request accepts none (RFC 9110, section 8.4).
 * Removes the headers that describe the coded body. The reader of the body bounds its bytes.
 *
 * @param isUnread true if nobody reads the body
 * @throws ContentCodingError for an unknown coding; HoldfastError `UNAVAILABLE` while other responses have all wide
 * windows. The body of a broken coding throws an error of zlib.
 */
export function withoutCoding(response: HttpResponse, isUnread: boolean): HttpResponse {
  const { 'content-encoding': given, 'content-length': _, ...headers } = response.headers
  const codings = [given ?? []].flat().flatMap(value => value.toLowerCase().split(','))
  // Some servers mark a gzip file so, because of its name.
  const isGzipFile = /^application\/(x-)?gzip\b/i.test(String(headers['content-type'] ?? ''))
  const none = ['', 'identity', ...(isGzipFile ? ['gzip', 'x-gzip'] : [])]
  const names = codings.map(name => name.trim()).filter(name => !none.includes(name))
  if (names.length === 0) return response
  if (isUnread) return { ...response, headers }
  const decoders = names.reverse().flatMap(name => DECODERS[name] ?? [])
  const isUnknown = decoders.length < names.length || decoders.length > MOST_CODINGS
  if (isUnknown || wide + decoders.filter(({ isWide }) => isWide).length > MOST_WIDE) {
    response.body.on('error', () => undefined).destroy()
    throw isUnknown ? new ContentCodingError('sends an unknown Content-Encoding') : tooMany()
  }
  const body = decoders.reduce<Readable>((coded, { open, isWide }) => {
    const windows = isWide ? 1 : 0
    wide += windows
    // The reader of the decoded body gets the error.
    return pipeline(coded, open(), () => {
      wide -= windows
    })
  }, response.body)
  return { statusCode: response.statusCode, headers, trailers: response.trailers, body }
}

function tooMany(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the node already decodes as many files as it has memory for', {
    details: { retryAfter: RETRY_SECONDS },
  })
}

/** Returns whether a response failed because of its content coding. */
export function isCodingFailure(error: unknown): boolean {
  if (error instanceof ContentCodingError) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(Z_|ZSTD_|ERR_BROTLI|ERR__ERROR)/.test(code)
}
