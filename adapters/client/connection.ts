import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { Page } from './account-answers.ts'
import { type Answer, exchange } from './exchange.ts'
import { type Wait, waitFor } from './idle-timer.ts'
import { brokenOff, type JsonObject, parseObject, refusalOf } from './refusal.ts'
import { isRepeatable, jsonBody, type RequestBody } from './request-body.ts'

export type { JsonObject } from './refusal.ts'

/** Options of a request. */
export interface RequestOptions {
  query?: Readonly<Record<string, string | undefined>>
  /** Replace the client's headers of the same name. */
  headers?: Readonly<Record<string, string>>
  /** JSON body. The client omits undefined fields. */
  json?: object | undefined
  /** Body in a format other than JSON. */
  body?: RequestBody | undefined
  /**
   * Milliseconds without progress after which the request fails; 0 for no limit. Default: five minutes, after which
   * Node's own `fetch` always fails.
   */
  idleMs?: number
  /** Aborts the request, which then fails with `ABORTED`. */
  signal?: AbortSignal | undefined
}

export interface ConnectionSettings {
  /** Without a slash at the end. */
  base: string
  /** Without a slash at the end. */
  gateway: string
  key: string | undefined
  headers: Readonly<Record<string, string>>
  fetch: typeof fetch
  wait: Wait
  note: (text: string) => void
}

/** Path of the API below its server. */
export const BASE_PATH = '/api/v3'
const IDLE_MS = 5 * 60_000
const LONGEST_WAIT_S = 120
const LARGEST_ANSWER = 64 * 1024 * 1024
/** Pauses in ms before each retry of a GET request. */
export const RETRY_MS = [250, 1_000]
/** HTTP statuses of a proxy, or of a server that is still starting. */
const PASSING = new Set([502, 503, 504])

/**
 * If the connection breaks, only GET requests are retried: any other request may have taken effect. If the rate limit
 * is reached, the request is retried once after `Retry-After`.
 */
export class Connection {
  readonly settings: ConnectionSettings

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  async json<Value extends object = JsonObject>(
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Value> {
    const answer = await this.#api(method, path, options)
    const text = await readText(answer)
    // The API contract defines the fields, so the client does not check them.
    return (answer.response.status === 204 ? {} : parseObject(text)) as Value
  }

  /** Returns a page of a list. The options may have filters. The answer has the rows in `field`. */
  async page<Row>(
    path: string,
    field: string,
    { signal, ...asked }: Pick<RequestOptions, 'signal'>,
  ): Promise<Page<Row>> {
    const given = Object.entries(asked).filter(([, value]) => value !== undefined)
    const query = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
    const { [field]: rows, next } = await this.json('GET', path, { query, signal })
    return { rows, next } as Page<Row>
  }

  /** Yields the JSON object of each line when it arrives. */
  async *lines(method: string, path: string, options: RequestOptions = {}): AsyncGenerator<JsonObject, void> {
    const answer = await this.#api(method, path, options)
    const decoder = new TextDecoder()
    let rest = ''
    for await (const piece of answer.bytes()) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LARGEST_ANSWER) throw brokenOff(new Error('a line is too long'))
      for (const line of lines) if (line !== '') yield parseObject(line)
    }
    if (rest !== '') yield parseObject(rest)
  }

  /** Yields the body of an answer when it arrives. */
  async *bytes(method: string, path: string, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void> {
    yield* (await this.#api(method, path, options)).bytes()
  }

  /**
   * Requests content from the gateway without the credential. If the gateway does not have the content, asks the server
   * of the API with the credential, for private content of the account.
   */
  async content(path: string, options: RequestOptions): Promise<Answer> {
    const { gateway, base, key } = this.settings
    try {
      return await this.#accepted('GET', `${gateway}${path}`, options)
    } catch (error) {
      const isAbsent = isHoldfastError(error) && error.details.status === 404
      if (!isAbsent || key === undefined || !base.endsWith(BASE_PATH)) throw error
      const headers = { authorization: `Bearer ${key}`, ...options.headers }
      return this.#accepted('GET', `${base.slice(0, -BASE_PATH.length)}/ipfs${path}`, { ...options, headers })
    }
  }

  #api(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const { base, key } = this.settings
    const own = { accept: 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) }
    const headers = merged(own, options.headers ?? {})
    const body = options.json === undefined ? options.body : jsonBody(options.json)
    return this.#accepted(method, base + path, { ...options, headers, body })
  }

  async #accepted(method: string, address: string, options: RequestOptions): Promise<Answer> {
    const { wait, note } = this.settings
    const retries = method === 'GET' ? [...RETRY_MS] : []
    let mayWait = options.body === undefined || isRepeatable(options.body)
    for (;;) {
      const answer = await this.#send(method, address, options).catch((error: unknown) => {
        if (retries.length === 0 || options.signal?.aborted === true) throw error
        return null
      })
      if (answer?.response.ok === true) return answer
      const retry = answer === null || PASSING.has(answer.response.status) ? retries.shift() : undefined
      if (retry !== undefined) {
        await answer?.discard()
        await waitFor(wait, retry, options.signal)
        continue
      }
      if (answer === null) continue
      const { response } = answer
      const refusal = refusalOf(response, await readText(answer))
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (response.status !== 429 || !mayWait || !(seconds >= 0 && seconds <= LONGEST_WAIT_S)) throw refusal
      mayWait = false
      note(`the rate limit is reached, going on in ${seconds} s`)
      await waitFor(wait, seconds * 1_000, options.signal)
    }
  }

  #send(method: string, address: string, options: RequestOptions): Promise<Answer> {
    const { query = {}, headers = {}, idleMs = IDLE_MS, body, signal } = options
    const url = new URL(address)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    const { fetch, headers: always } = this.settings
    return exchange(fetch, { method, url, headers: merged(always, headers), body, idleMs, signal })
  }
}

/** Merges headers. A later one replaces earlier ones of its name in any case, which `fetch` would join. */
function merged(...all: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const headers = all.flatMap(one => Object.entries(one))
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
}

async function readText(answer: Answer): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const piece of answer.bytes()) {
    length += piece.length
    if (length > LARGEST_ANSWER) throw brokenOff(new Error('it is too large'))
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

/** Encodes a text as one segment of a request path. @throws HoldfastError `VALIDATION` if the text is empty, `.` or `..` */
export function pathPart(text: string, what: string): string {
  // Programs without types may pass an undefined id.
  const part = typeof text === 'string' ? text.trim() : ''
  if (part === '') throw new HoldfastError('VALIDATION', `${what} is missing`)
  if (isDots(part)) throw new HoldfastError('VALIDATION', `${what} must not be ${part}`)
  return encodeURIComponent(part.toWellFormed())
}

/** Returns whether a URL resolves a segment of its path instead of keeping it. */
export function isDots(segment: string): boolean {
  return segment === '.' || segment === '..'
}
