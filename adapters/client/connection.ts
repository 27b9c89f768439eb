import { HoldfastError } from '../../src/domain/errors.ts'
import { type Answer, exchange } from './exchange.ts'
import { brokenOff, type JsonObject, parseObject, refusalOf } from './refusal.ts'
import { isRepeatable, jsonBody, type RequestBody } from './request-body.ts'

export type { JsonObject } from './refusal.ts'

/** What a request takes along. */
export interface RequestOptions {
  /** Undefined ones are left out. */
  query?: Readonly<Record<string, string | undefined>>
  /** Besides those of the client, or in place of them. */
  headers?: Readonly<Record<string, string>>
  /** A body of JSON, from which fields that are undefined are left out. */
  json?: object | undefined
  /** Any other body. */
  body?: RequestBody | undefined
  /**
   * How long the server may be silent, in milliseconds; default five minutes, 0 for ever. Node's own `fetch` waits five
   * minutes for an answer in any case.
   */
  idleMs?: number
  /** Ends the request, which then fails with `ABORTED`. */
  signal?: AbortSignal | undefined
}

export interface ConnectionSettings {
  /** Of the API, without a slash at the end. */
  base: string
  /** Of the gateway, without a slash at the end. */
  gateway: string
  key: string | undefined
  headers: Readonly<Record<string, string>>
  fetch: typeof fetch
  wait: (ms: number) => Promise<unknown>
  note: (text: string) => void
}

const IDLE_MS = 5 * 60_000
/** A server that wants to be left alone for longer is not waited for. */
const LONGEST_WAIT_S = 120
const LARGEST_ANSWER = 64 * 1024 * 1024
/** Before a read is sent again; as many times as there are waits. */
export const RETRY_MS = [250, 1_000]
/** Of something between us and the server, or of one that is just starting. */
const PASSING = new Set([502, 503, 504])

/**
 * Speaks to a server. Only reads are sent again when the connection breaks: of anything else it is not known how far it
 * got. What the rate limit refuses is sent again once, after the time that the server asks for.
 */
export class Connection {
  readonly settings: ConnectionSettings

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  /**
   * The JSON that a path below the base answers.
   *
   * @throws HoldfastError with the server's own code for every answer but a 2xx; `UNAVAILABLE` without an answer
   */
  async json<Value extends object = JsonObject>(
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Value> {
    const answer = await this.#api(method, path, options)
    const text = await readText(answer)
    // The contract says what is in it; a server that keeps to another one is found out by who uses it.
    return (answer.response.status === 204 ? {} : parseObject(text)) as Value
  }

  /** As {@link json}, for answers of one JSON object a line, given as they come. */
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

  /** An answer of the gateway, without credentials. @throws HoldfastError as {@link json} */
  content(path: string, options: RequestOptions): Promise<Answer> {
    return this.#accepted('GET', `${this.settings.gateway}${path}`, options)
  }

  #api(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const { base, key } = this.settings
    const headers = {
      accept: 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...options.headers,
    }
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
        await wait(retry)
        continue
      }
      if (answer === null) continue
      const { response } = answer
      const refusal = refusalOf(response, await readText(answer))
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (response.status !== 429 || !mayWait || !(seconds >= 0 && seconds <= LONGEST_WAIT_S)) throw refusal
      mayWait = false
      note(`the rate limit is reached, going on in ${seconds} s`)
      await wait(seconds * 1_000)
    }
  }

  #send(method: string, address: string, options: RequestOptions): Promise<Answer> {
    const { query = {}, headers = {}, idleMs = IDLE_MS, body, signal } = options
    const url = new URL(address)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    const { fetch, headers: always } = this.settings
    return exchange(fetch, { method, url, headers: { ...always, ...headers }, body, idleMs, signal })
  }
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

/** Something in the path of a request. @throws HoldfastError `VALIDATION` if it is empty */
export function pathPart(text: string, what: string): string {
  const part = text.trim()
  if (part === '') throw new HoldfastError('VALIDATION', `${what} is missing`)
  return encodeURIComponent(part)
}
