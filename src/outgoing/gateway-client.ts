import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../domain/errors.ts'
import { wholeUpTo } from '../domain/sources.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import { matches } from '../ipld/block-hash.ts'
import { type HttpResponse, isCodingFailure } from './content-coding.ts'
import { type HttpAgent, httpAgent, isTimeout } from './http-agent.ts'
import { lookupPublic, namesPrivateHost, PrivateAddressError } from './public-lookup.ts'
import { discard, isPlainHttpUrl, RedirectError, requestFollowing } from './redirects.ts'

export interface GatewayClientOptions {
  /** Origins of the configured gateways, which may have private addresses. */
  trusted: ReadonlySet<string>
  /** True if gateways other than the configured ones may have private addresses. */
  allowPrivate: boolean
  /** Maximum time until the first byte of a response, and between two chunks of its body. */
  timeoutMs?: number
  /** Called when a gateway is refused because of its private address. */
  onPrivate?: (base: URL) => void
}

const ACCEPTED = { accept: 'application/vnd.ipld.raw' }
/** The gateway is unreachable or its response is invalid. If `final` is true, do not ask the gateway again. */
type Failed = { kind: 'failed'; reason: string; final: boolean }
export type BlockAnswer = { kind: 'block'; bytes: Uint8Array } | { kind: 'missing' } | Failed
/** The size is not verified. */
export type SizeAnswer = { kind: 'size'; bytes: number } | { kind: 'missing' } | Failed

const LONGEST_BLOCK = 4 * 1024 * 1024
const REQUESTS_PER_HOST = 16
const TIMEOUT_MS = 10_000
const UNREACHED = 'could not be reached'
/** With these statuses, a gateway reports that it does not have the block. */
const NOT_FOUND = new Set([404, 410, 412])
const RETRYABLE = new Set([408, 425, 429])

/** Fetches single blocks from trustless HTTP gateways and verifies them. The caller must close the client. */
export class GatewayClient {
  readonly #trusted: ReadonlySet<string>
  readonly #allowPrivate: boolean
  readonly #anywhere: HttpAgent
  readonly #publicOnly: HttpAgent
  readonly #onPrivate: (base: URL) => void

  constructor({ trusted, allowPrivate, timeoutMs = TIMEOUT_MS, onPrivate = () => undefined }: GatewayClientOptions) {
    this.#onPrivate = onPrivate
    this.#trusted = trusted
    this.#allowPrivate = allowPrivate
    this.#anywhere = httpAgent({ connections: REQUESTS_PER_HOST, timeoutMs })
    this.#publicOnly = httpAgent({ connections: REQUESTS_PER_HOST, timeoutMs, lookup: lookupPublic })
  }

  /** Checks a URL without resolving its host name. */
  isAllowed(url: URL): boolean {
    return isPlainHttpUrl(url) && (this.#isAnywhere(url) || !namesPrivateHost(url))
  }

  /** Requests a block from the gateway at `base`. Rejects only if `signal` aborts. */
  get(base: URL, cid: CID, signal: AbortSignal): Promise<BlockAnswer> {
    return this.#ask(base, cid, { method: 'GET', signal }, response => readBlock(response, cid))
  }

  /** Requests the size, or else the block itself. Rejects only if `signal` aborts. */
  async size(base: URL, cid: CID, signal: AbortSignal): Promise<SizeAnswer> {
    const stated = await this.#ask<SizeAnswer>(base, cid, { method: 'HEAD', signal }, async response =>
      readSize(response),
    )
    if (stated.kind !== 'size' || stated.bytes >= 0) return stated
    const answer = await this.get(base, cid, signal)
    return answer.kind === 'block' ? { kind: 'size', bytes: answer.bytes.length } : answer
  }

  async #ask<T>(
    base: URL,
    cid: CID,
    how: { method: 'GET' | 'HEAD'; signal: AbortSignal },
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T | Failed> {
    try {
      const url = new URL(`${withoutTrailingSlashes(base.href)}/ipfs/${cid}?format=raw`)
      return await this.#follow(url, how, read)
    } catch (error) {
      how.signal.throwIfAborted()
      if (!isPrivate(error)) return { kind: 'failed', ...reasonOf(error) }
      // The account can see the reason, so the reason must not reveal which internal host names exist.
      this.#onPrivate(base)
      return { kind: 'failed', reason: UNREACHED, final: true }
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#anywhere.close(), this.#publicOnly.close()])
  }

  async #follow<T>(
    start: URL,
    { method, signal }: { method: 'GET' | 'HEAD'; signal: AbortSignal },
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T> {
    const send = (url: URL) =>
      (this.#isAnywhere(url) ? this.#anywhere : this.#publicOnly).request(url, { method, headers: ACCEPTED, signal })
    const { response } = await requestFollowing(start, url => this.isAllowed(url), send)
    return read(response)
  }

  #isAnywhere(url: URL): boolean {
    return this.#allowPrivate || this.#trusted.has(url.origin)
  }
}

async function readBlock(response: HttpResponse, cid: CID): Promise<BlockAnswer> {
  const { statusCode: status, body } = response
  if (status !== 200) return refused(response)
  const bytes = await wholeUpTo(body, LONGEST_BLOCK)
  if (bytes === null) return { kind: 'failed', reason: 'sent more than the largest block', final: true }
  if (await matches(cid.multihash.bytes, bytes)) return { kind: 'block', bytes }
  return { kind: 'failed', reason: 'sent the bytes of another block', final: true }
}

/** Returns the stated size, or -1 if the response states no size. */
function readSize(response: HttpResponse): SizeAnswer {
  if (response.statusCode !== 200) return refused(response)
  discard(response)
  const length = Number(response.headers['content-length'] ?? -1)
  if (!Number.isSafeInteger(length)) return { kind: 'size', bytes: -1 }
  if (length > LONGEST_BLOCK) return { kind: 'failed', reason: 'states a size above the largest block', final: true }
  return { kind: 'size', bytes: length }
}

function refused(response: HttpResponse): { kind: 'missing' } | Failed {
  const { statusCode: status } = response
  discard(response)
  if (NOT_FOUND.has(status)) return { kind: 'missing' }
  return { kind: 'failed', reason: `HTTP ${status}`, final: status < 500 && !RETRYABLE.has(status) }
}

function isPrivate(error: unknown): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined]
  return causes.some(cause => cause instanceof PrivateAddressError)
}

function reasonOf(error: unknown): { reason: string; final: boolean } {
  if (isHoldfastError(error)) return { reason: error.message, final: error.code !== 'UNAVAILABLE' }
  if (error instanceof RedirectError) return { reason: error.message, final: error.final }
  if (isTimeout(error)) return { reason: 'did not answer in time', final: false }
  if (isCodingFailure(error)) return { reason: 'sent an unknown or broken Content-Encoding', final: true }
  return { reason: UNREACHED, final: false }
}
