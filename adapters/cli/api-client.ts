import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiSettings } from './api-settings.ts'
import { exchange, type RequestBody } from './http-exchange.ts'

/** The body of an answer. What is in it is the server's word, to be looked at before it is used. */
export type JsonObject = Readonly<Record<string, unknown>>

export interface ApiRequestOptions {
  /** Undefined ones are left out. */
  query?: Readonly<Record<string, string | undefined>>
  headers?: Readonly<Record<string, string>>
  body?: RequestBody | undefined
  /** How long the server may be silent; default five minutes. */
  idleMs?: number
}

export interface ApiClientOptions {
  /** Waits for some milliseconds. */
  wait?: (ms: number) => Promise<unknown>
  /** Told what holds a command up. */
  note?: (text: string) => void
}

const CAR_TYPE = 'application/vnd.ipld.car'
/** What the base of the API ends in where the gateway is beside it. */
const BASE_PATH = /\/api\/v3$/
const IDLE_MS = 5 * 60_000
/** A server that wants to be left alone for longer is not waited for. */
const LONGEST_WAIT_S = 120
const LARGEST_ANSWER = 64 * 1024 * 1024
/** Before a read is sent again; as many times as there are waits. */
const RETRY_MS = [250, 1_000]
/** Of something between us and the server, or of one that is just starting. */
const PASSING = new Set([502, 503, 504])

/**
 * Speaks to a server by its HTTP contract. Only reads are sent again when the connection breaks: of anything else it is
 * not known how far it got. What the rate limit refuses is sent again once, after the time that the server asks for.
 */
export class ApiClient {
  readonly #settings: ApiSettings
  readonly #wait: (ms: number) => Promise<unknown>
  readonly #note: (text: string) => void

  constructor(settings: ApiSettings, { wait = ms => sleep(ms), note = () => undefined }: ApiClientOptions = {}) {
    this.#settings = settings
    this.#wait = wait
    this.#note = note
  }

  /**
   * The JSON object that a path below the base answers.
   *
   * @throws HoldfastError with the server's own words for every answer but a 2xx; `UNAVAILABLE` without an answer.
   */
  async request(method: string, path: string, options: ApiRequestOptions = {}): Promise<JsonObject> {
    return parseObject(await readText(await this.#answer(method, path, options)))
  }

  /** As {@link request}, for answers of one JSON object a line, given as they come. */
  async *lines(method: string, path: string, options: ApiRequestOptions = {}): AsyncGenerator<JsonObject, void> {
    const response = await this.#answer(method, path, options)
    try {
      for await (const line of createInterface({ input: response })) yield parseObject(line)
    } catch (cause) {
      throw brokenOff(cause)
    } finally {
      response.destroy()
    }
    if (!response.complete) throw brokenOff(undefined)
  }

  /**
   * The DAG below a CID as a CAR, from the gateway beside the API. The stream throws if it breaks off.
   *
   * @throws HoldfastError as {@link request}
   */
  async car(cid: string): Promise<AsyncIterable<Uint8Array>> {
    return this.#fromGateway([cid], { format: 'car', 'dag-scope': 'all', 'car-dups': 'n' }, CAR_TYPE)
  }

  /**
   * What lies at a CID and the names below it, from the gateway beside the API, as {@link car}.
   *
   * @throws HoldfastError as {@link request}; `VALIDATION` for a directory that is asked for as a file
   */
  async content(names: readonly string[], form: 'file' | 'tar'): Promise<AsyncIterable<Uint8Array>> {
    if (form === 'tar') return this.#fromGateway(names, { format: 'tar' }, 'application/x-tar')
    return this.#fromGateway(names, {}, '*/*').catch((error: unknown) => {
      if (!isHoldfastError(error) || error.details.status !== 301) throw error
      const advice = 'name a file of it (holdfast ls CID shows them), or get it with --tar'
      throw new HoldfastError('VALIDATION', `${names.join('/')} is a directory: ${advice}`, { cause: error })
    })
  }

  async #fromGateway(
    names: readonly string[],
    query: Readonly<Record<string, string>>,
    accept: string,
  ): Promise<AsyncIterable<Uint8Array>> {
    const base = this.#settings.base.replace(BASE_PATH, '')
    const url = withQuery(`${base}/ipfs/${names.map(encodeURIComponent).join('/')}`, query)
    const headers = { accept, 'user-agent': 'holdfast' }
    const response = await this.#accepted('GET', () => exchange({ method: 'GET', url, headers, idleMs: IDLE_MS }))
    return wholeBody(response)
  }

  #answer(method: string, path: string, options: ApiRequestOptions): Promise<IncomingMessage> {
    return this.#accepted(method, () => this.#send(method, path, options))
  }

  async #accepted(method: string, send: () => Promise<IncomingMessage>): Promise<IncomingMessage> {
    const retries = method === 'GET' ? [...RETRY_MS] : []
    let mayWait = true
    for (;;) {
      const response = await send().catch((error: unknown) => {
        if (retries.length === 0) throw error
        return null
      })
      const { statusCode: status = 0 } = response ?? {}
      if (response !== null && status >= 200 && status < 300) return response
      const retry = response === null || PASSING.has(status) ? retries.shift() : undefined
      if (retry !== undefined) {
        response?.resume()
        await this.#wait(retry)
        continue
      }
      if (response === null) continue
      const seconds = Number(response.headers['retry-after'])
      const refusal = refusalOf(response, await readText(response))
      if (status !== 429 || !mayWait || !(seconds >= 0 && seconds <= LONGEST_WAIT_S)) throw refusal
      mayWait = false
      this.#note(`the rate limit is reached, going on in ${seconds} s`)
      await this.#wait(seconds * 1_000)
    }
  }

  #send(method: string, path: string, options: ApiRequestOptions): Promise<IncomingMessage> {
    const { query = {}, headers = {}, body, idleMs = IDLE_MS } = options
    const url = withQuery(this.#settings.base + path, query)
    const authorization = `Bearer ${this.#settings.key}`
    return exchange({
      method,
      url,
      headers: { accept: 'application/json', 'user-agent': 'holdfast', authorization, ...headers },
      ...(body && { body }),
      idleMs,
    })
  }
}

function withQuery(address: string, query: NonNullable<ApiRequestOptions['query']>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
  return url
}

async function* wholeBody(response: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    yield* response
  } catch (cause) {
    throw brokenOff(cause)
  } finally {
    response.destroy()
  }
  if (!response.complete) throw brokenOff(undefined)
}

/** A JSON body. */
export function jsonBody(value: object): RequestBody {
  const bytes = Buffer.from(JSON.stringify(value))
  return {
    type: 'application/json',
    length: bytes.length,
    async *open() {
      yield bytes
    },
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > LARGEST_ANSWER) throw new Error('it is too large')
      chunks.push(chunk)
    }
  } catch (cause) {
    throw brokenOff(cause)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function brokenOff(cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new HoldfastError('UNAVAILABLE', `the answer broke off${reason}`, { cause })
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as JsonObject
  } catch {
    // Told below, as what it means.
  }
  throw new HoldfastError('UNAVAILABLE', 'the answer is not JSON: is --api the base of the API?')
}

/** What the server said, as an error of the command. */
function refusalOf({ statusCode = 0, headers }: IncomingMessage, text: string): HoldfastError {
  if (statusCode >= 300 && statusCode < 400) {
    return new HoldfastError(
      'UNAVAILABLE',
      `the server redirects to ${headers.location ?? 'another place'}: set --api`,
      {
        details: { status: statusCode },
      },
    )
  }
  let body: JsonObject
  try {
    body = parseObject(text)
  } catch {
    body = {}
  }
  const { message = body.error ?? 'no reason given', code = '' } = body
  const kind = [statusCode, code].filter(part => part !== '').join(' ')
  return new HoldfastError('UNAVAILABLE', `${message} (${kind})`, { details: { status: statusCode } })
}
