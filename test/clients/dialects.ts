import { curlForm, type FormPart, goForm, guzzleForm, urllib3Form, type WrittenForm } from './forms.ts'
import { exchange, type WireAnswer, type WireRequest } from './wire.ts'

export interface Call {
  json?: unknown
  form?: readonly FormPart[]
  headers?: readonly string[]
}

/** How one client writes its requests: order and case of headers, and how it sends empty bodies. */
export interface Dialect {
  name: string
  write(host: string, method: string, path: string, credential: string | null, call: Call): WireRequest
}

interface Body {
  type: string | null
  body: Buffer | null
}

function bodyOf({ json, form }: Call, writeForm: (parts: readonly FormPart[]) => WrittenForm): Body {
  if (form !== undefined) {
    const { contentType, body } = writeForm(form)
    return { type: contentType, body }
  }
  if (json !== undefined) return { type: 'application/json', body: Buffer.from(JSON.stringify(json)) }
  return { type: null, body: null }
}

function request(head: (string | null)[], body: Buffer | null, extra: Partial<WireRequest> = {}): WireRequest {
  return { head: head.filter(line => line !== null), ...(body === null ? {} : { body }), ...extra }
}

/** Python's requests: sends the key as X-API-Key, and `Content-Length: 0` unless it is a GET. */
export const python: Dialect = {
  name: 'requests (Python)',
  write(host, method, path, credential, call) {
    const { type, body } = bodyOf(call, urllib3Form)
    const announced = body?.length ?? (method === 'GET' ? null : 0)
    return request(
      [
        `${method} ${path} HTTP/1.1`,
        `Host: ${host}`,
        'User-Agent: python-requests/2.34.0',
        'Accept-Encoding: gzip, deflate',
        'Accept: */*',
        'Connection: keep-alive',
        credential === null ? null : `X-API-Key: ${credential}`,
        ...(call.headers ?? []),
        announced === null ? null : `Content-Length: ${announced}`,
        type === null ? null : `Content-Type: ${type}`,
      ],
      body,
    )
  },
}

/** Guzzle: sends no length without a body. */
export const php: Dialect = {
  name: 'Guzzle (PHP)',
  write(host, method, path, credential, call) {
    const { type, body } = bodyOf(call, guzzleForm)
    return request(
      [
        `${method} ${path} HTTP/1.1`,
        body === null ? null : `Content-Length: ${body.length}`,
        'User-Agent: GuzzleHttp/7',
        type === null ? null : `Content-Type: ${type}`,
        `Host: ${host}`,
        'Accept: application/json',
        credential === null ? null : `X-API-Key: ${credential}`,
        ...(call.headers ?? []),
      ],
      body,
    )
  },
}

/** Go's net/http: sends header names in canonical case. */
export const go: Dialect = {
  name: 'Go',
  write(host, method, path, credential, call) {
    const { type, body } = bodyOf(call, goForm)
    return request(
      [
        `${method} ${path} HTTP/1.1`,
        `Host: ${host}`,
        'User-Agent: Go-http-client/1.1',
        body === null ? null : `Content-Length: ${body.length}`,
        'Accept: application/json',
        type === null ? null : `Content-Type: ${type}`,
        credential === null ? null : `X-Api-Key: ${credential}`,
        ...(call.headers ?? []),
        'Accept-Encoding: gzip',
      ],
      body,
    )
  },
}

/** curl as in the samples: sends the key in both headers, and waits for `100 Continue` with a body above 1 MiB. */
export const curl: Dialect = {
  name: 'curl',
  write(host, method, path, credential, call) {
    const { type, body } = bodyOf(call, curlForm)
    const expects = body !== null && body.length > 1024 * 1024
    return request(
      [
        `${method} ${path} HTTP/1.1`,
        `Host: ${host}`,
        'User-Agent: curl/7.88.1',
        'Accept: */*',
        ...(credential === null ? [] : [`Authorization: Bearer ${credential}`, `X-API-Key: ${credential}`]),
        ...(call.headers ?? []),
        body === null ? null : `Content-Length: ${body.length}`,
        type === null ? null : `Content-Type: ${type}`,
        expects ? 'Expect: 100-continue' : null,
      ],
      body,
      { expectContinue: expects },
    )
  },
}

/** Returns a function that calls a server in a dialect. Its `path` is relative to `/api/v3`. */
export function caller(dialect: Dialect, port: number, credential: string | null) {
  return (method: string, path: string, call: Call = {}): Promise<WireAnswer> =>
    exchange(port, dialect.write(`127.0.0.1:${port}`, method, `/api/v3${path}`, credential, call))
}
