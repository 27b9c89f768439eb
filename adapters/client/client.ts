import { HoldfastError } from '../../src/domain/errors.ts'
import { checkFields, checkingFields } from '../../src/domain/known-fields.ts'
import { Account, Keys } from './account.ts'
import { Jobs } from './bulk.ts' // feature: bulk
import * as known from './client-options.ts'
import { BASE_PATH, Connection, type JsonObject, type RequestOptions } from './connection.ts'
import { Content } from './content.ts'
import { Files } from './files.ts'
import { sleep } from './idle-timer.ts'
import { Owner } from './owner.ts'
import { Pins } from './pins.ts'
import { SecondFactor } from './second-factor.ts'
import { Sessions } from './sessions.ts'
import { Webhooks } from './webhooks.ts' // feature: webhooks

/** Options of a client: server, credential and hooks. */
export interface ClientOptions {
  /** URL of the API, such as `https://pins.example.org/api/v3`. Without a path, the client adds `/api/v3`. */
  base: string
  /** API key or session token. Not needed for reading content. */
  key?: string | undefined
  /** URL of the gateway, ending in `/ipfs`. Default: `/ipfs` in place of the API's `/api/v3`. */
  gateway?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
  fetch?: typeof fetch | undefined
  /** Waits that many milliseconds. Default: a timer. */
  wait?: ((ms: number) => Promise<unknown>) | undefined
  /** Receives a sentence that explains why a request waits. */
  note?: ((text: string) => void) | undefined
}

/**
 * Client of the HTTP API, for Node and browsers.
 *
 * Every error is a HoldfastError, except an error of a source or callback of your own, which the client passes on. A
 * refusal has the server's `code` and message, and the HTTP `status` in its details.
 * The code `UNAVAILABLE` means that the server did not answer, or that its response broke off.
 *
 * Times in responses are ISO 8601 texts in UTC, and sizes are bytes, unless a field says otherwise.
 */
export class HoldfastClient {
  readonly files: Files
  readonly pins: Pins
  readonly jobs: Jobs // feature: bulk
  readonly content: Content
  readonly account: Account
  readonly keys: Keys
  readonly sessions: Sessions
  readonly secondFactor: SecondFactor
  readonly webhooks: Webhooks // feature: webhooks
  readonly owner: Owner
  readonly #connection: Connection

  /** @throws HoldfastError `VALIDATION` for an invalid base, gateway or key, or for an unknown option */
  constructor(options: ClientOptions) {
    checkFields(options, known.CLIENT, 'HoldfastClient')
    const base = address(options.base, 'base')
    this.#connection = new Connection({
      base,
      gateway:
        options.gateway === undefined ? `${base.replace(/\/api\/v3$/, '')}/ipfs` : address(options.gateway, 'gateway'),
      key: readKey(options.key),
      headers: options.headers ?? {},
      // Browsers refuse to call `fetch` as a method of another object.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      wait: options.wait ?? sleep,
      note: options.note ?? (() => undefined),
    })
    this.files = checkingFields(new Files(this.#connection), known.FILE_CALLS)
    this.pins = checkingFields(new Pins(this.#connection), known.PIN_CALLS)
    this.jobs = checkingFields(new Jobs(this.#connection), known.JOB_CALLS) // feature: bulk
    this.content = checkingFields(new Content(this.#connection), known.CONTENT_CALLS)
    this.account = checkingFields(new Account(this.#connection), known.ACCOUNT_CALLS)
    this.keys = checkingFields(new Keys(this.#connection), known.KEY_CALLS)
    this.sessions = checkingFields(new Sessions(this.#connection), known.SESSION_CALLS)
    this.secondFactor = checkingFields(new SecondFactor(this.#connection), known.SECOND_FACTOR_CALLS)
    this.webhooks = checkingFields(new Webhooks(this.#connection), known.WEBHOOK_CALLS) // feature: webhooks
    this.owner = checkingFields(new Owner(this.#connection), known.OWNER_CALLS)
  }

  /**
   * Sends any other request to a path below the base, and returns the JSON response.
   * @example const plans = await client.request('GET', '/plans')
   */
  async request<Answer extends object = JsonObject>(
    method: string,
    path: string,
    options?: RequestOptions,
  ): Promise<Answer> {
    checkFields(options, known.REQUEST, 'request')
    return this.#connection.json<Answer>(method, path, options)
  }

  /**
   * Yields the JSON object of each line of the response when it arrives.
   * @example for await (const line of client.lines('POST', '/admin/v1/verify')) console.log(line)
   */
  lines(method: string, path: string, options?: RequestOptions): AsyncGenerator<JsonObject, void> {
    checkFields(options, known.REQUEST, 'lines')
    return this.#connection.lines(method, path, options)
  }
}

function address(text: string, field: 'base' | 'gateway'): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new HoldfastError('VALIDATION', `${field} must be the URL of ${field === 'base' ? 'an API' : 'a gateway'}`)
  }
  const path = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname
  return url.origin + (path === '' && field === 'base' ? BASE_PATH : path)
}

function readKey(key: string | undefined): string | undefined {
  if (key === undefined) return undefined
  // A key that an owner has chosen may contain spaces, but not at either end.
  if (!/^[\x20-\x7e]+$/.test(key) || key.trim() !== key)
    throw new HoldfastError('VALIDATION', 'the key may have printable ASCII only')
  return key
}
