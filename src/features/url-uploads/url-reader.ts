import type { LookupFunction } from 'node:net'
import { Deadline } from '../../concurrency/deadline.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { type HttpResponse, isCodingFailure } from '../../outgoing/content-coding.ts'
import { httpAgent, isTimeout } from '../../outgoing/http-agent.ts'
import { lookupPublic, namesPrivateHost } from '../../outgoing/public-lookup.ts'
import { discard, isPlainHttpUrl, RedirectError, requestFollowing } from '../../outgoing/redirects.ts'

/** A file at a URL. The caller must read the body, or end its iteration. */
export interface UrlContent {
  /** Last part of the path, after all redirects. Empty if the path has none. */
  name: string
  body: AsyncIterable<Uint8Array>
}

export interface UrlReaderOptions {
  clock: Clock
  /** True if URLs may lead to private addresses. */
  allowPrivate: boolean
  /** Resolves host names and refuses private addresses. */
  lookup?: LookupFunction
  /** Maximum time until the first byte of a response, and between two chunks of its body. */
  timeoutMs?: number
  /** Maximum time of a whole transfer, because a server could send one byte at a time. */
  transferMs?: number
}

/** Reads files at URLs that accounts name. The caller must close the reader. */
export interface UrlReader {
  /** Parses a URL. @throws HoldfastError `VALIDATION`, naming `url` */
  parse(text: string): URL
  /**
   * Sends the request. Private and unreachable addresses cause the same error, so accounts cannot learn which internal
   * host names exist.
   *
   * @param limits.mostBytes maximum length that the server may announce; null for any. The body itself has no limit.
   * @throws HoldfastError `UNAVAILABLE` if the server is unreachable or too slow, `VALIDATION` if it has no such file,
   * `FILE_TOO_LARGE`
   */
  open(url: URL, limits: { signal: AbortSignal; mostBytes: number | null }): Promise<UrlContent>
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
const TRANSFER_MS = 3_600_000
// Some servers refuse requests without a name.
const HEADERS = { 'user-agent': 'holdfast' }

export function openUrlReader(options: UrlReaderOptions): UrlReader {
  const { clock, allowPrivate, lookup = lookupPublic, timeoutMs = TIMEOUT_MS, transferMs = TRANSFER_MS } = options
  // Upload slots bound the connections.
  const agent = httpAgent({ timeoutMs, lookup: allowPrivate ? undefined : lookup })
  const isAllowed = (url: URL): boolean => isPlainHttpUrl(url) && (allowPrivate || !namesPrivateHost(url))
  return {
    parse: text => {
      const url = URL.canParse(text) ? new URL(text) : null
      if (url === null || !isPlainHttpUrl(url)) {
        throw new HoldfastError('VALIDATION', 'url must be an http or https URL without a user name')
      }
      if (!isAllowed(url)) throw new HoldfastError('VALIDATION', 'url must not lead to a private address')
      return url
    },
    open: async (start, { signal: given, mostBytes }) => {
      const deadline = new Deadline({ clock, ms: transferMs, late, signal: given })
      const { signal } = deadline
      try {
        const send = (url: URL) => agent.request(url, { method: 'GET', headers: HEADERS, signal })
        const { url, response } = await requestFollowing(start, isAllowed, send)
        checkAnswer(response, mostBytes)
        return { name: nameIn(url), body: bodyOf(response, given, () => deadline.rest()) }
      } catch (error) {
        deadline.rest()
        throw failure(error, given)
      }
    },
    close: agent.close,
  }
}

/** Destroys the body of a response that is no file. @throws HoldfastError `VALIDATION`, `FILE_TOO_LARGE` */
function checkAnswer(response: HttpResponse, mostBytes: number | null): void {
  const { statusCode, headers } = response
  const isTooLarge = mostBytes !== null && Number(headers['content-length'] ?? 0) > mostBytes
  if (statusCode === 200 && !isTooLarge) return
  discard(response)
  if (isTooLarge) throw new HoldfastError('FILE_TOO_LARGE', `the plan allows files of ${mostBytes} bytes`)
  throw new HoldfastError('VALIDATION', `url must lead to a file: its server answers HTTP ${statusCode}`)
}

async function* bodyOf(
  response: HttpResponse,
  given: AbortSignal,
  onEnd: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* response.body
  } catch (error) {
    throw failure(error, given)
  } finally {
    onEnd()
    discard(response)
  }
}

function nameIn({ pathname }: URL): string {
  const last = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

function late(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the server of url did not answer in time')
}

/** Returns the error for the account. @throws the reason of `given` if it has aborted */
function failure(cause: unknown, given: AbortSignal): HoldfastError {
  given.throwIfAborted()
  if (isHoldfastError(cause)) return cause
  if (cause instanceof RedirectError) return new HoldfastError('VALIDATION', `url ${cause.message}`, { cause })
  if (isTimeout(cause)) return late()
  if (isCodingFailure(cause)) {
    const message = 'url must lead to a file: its server sends an unknown or broken Content-Encoding'
    return new HoldfastError('VALIDATION', message, { cause })
  }
  return new HoldfastError('UNAVAILABLE', 'the server of url could not be reached', { cause })
}
