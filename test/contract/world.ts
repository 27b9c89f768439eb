import assert from 'node:assert/strict'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { bytesOfText } from '../../src/domain/byte-text.ts'

/** A client that sends a request to an engine and returns its answer. */
export interface AuditClient {
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
}

export interface RequestOptions {
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Sends the body without `Content-Length`. */
  chunked?: boolean
}

export interface Answer {
  status: number
  /** Returns a header by its lower-case name. */
  header(name: string): string | undefined
  body: Buffer
  /** The body parsed as JSON. @throws if its type is not JSON */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at, not typed
  json: any
}

/** An account with a key of all scopes. */
export interface Actor {
  id: string
  email: string
  secret: string
  /** Headers with the account's key. */
  auth: Record<string, string>
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** Creates another key of the account. Returns its secret. */
  key(input: { name: string; scopes?: string[]; ipAllowlist?: string[]; expiresInDays?: number }): Promise<string>
}

/** A running service for audits, with operations that only its operator has. */
export interface World {
  client: AuditClient
  actor(plan?: string): Promise<Actor>
  disable(actor: Pick<Actor, 'id'>): Promise<void>
  /** Sets the account's password. */
  setPassword(actor: Pick<Actor, 'id'>, password: string): Promise<void>
  /** Makes a link that sets the account's password. Returns its token. */
  passwordLink(actor: Actor): Promise<string>
  /** Moves the service's clock. */
  advance(ms: number): Promise<void>
  now(): number
  /** A directory from which the service may import. */
  importRoot: string
}

export interface Audit {
  id: string
  /** Begins with MUST or SHOULD. */
  name: string
  run(world: World): Promise<void>
}

/** Plans that the audited service needs besides the built-in ones. */
export const auditPlans = {
  'audit-small': {
    timelock: true,
    clusters: '*' as const,
    maxFileBytes: 100_000,
    maxDirectoryBytes: 200_000,
    maxDirectoryFiles: 5,
    maxStorageBytes: 250_000,
    maxPins: 4,
    pageLimit: { default: 2, max: 3 },
    rateLimit: null,
    accountRateLimit: null,
  },
  'audit-remote': {
    timelock: true,
    clusters: '*' as const,
    serverImport: false,
    maxFileBytes: null,
    maxDirectoryBytes: null,
    maxDirectoryFiles: null,
    maxStorageBytes: null,
    maxPins: null,
    pageLimit: { default: 10, max: 10 },
    rateLimit: null,
    accountRateLimit: null,
  },
  'audit-rate': {
    timelock: false,
    clusters: ['cl0-global', 'cl1-eu'],
    maxFileBytes: null,
    maxDirectoryBytes: null,
    maxDirectoryFiles: null,
    maxStorageBytes: null,
    maxPins: null,
    pageLimit: { default: 10, max: 10 },
    rateLimit: { requests: 3, windowSeconds: 60 },
    accountRateLimit: { requests: 4, windowSeconds: 60 },
  },
}

export const BASE = '/api/v3'
export const DAY_MS = 24 * 60 * 60 * 1000

export function json(value: unknown): RequestOptions {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

export interface Part {
  name: string
  /** Text form of the file name as sent, with quotes encoded. */
  filename?: string
  content: string | Uint8Array
  type?: string
}

const BOUNDARY = 'audit-boundary-7f3a'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

export function form(parts: readonly Part[]): { headers: Record<string, string>; body: Buffer } {
  const chunks = parts.flatMap(({ name, filename, content, type }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const contentType = type === undefined ? '' : `Content-Type: ${type}\r\n`
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${contentType}\r\n`
    return [bytesOfText(head), Buffer.from(content), Buffer.from('\r\n')]
  })
  return {
    headers: { 'content-type': FORM_TYPE },
    body: Buffer.concat([...chunks, Buffer.from(`--${BOUNDARY}--\r\n`)]),
  }
}

/** Returns an upload form with the file first, then the fields, as browsers send it. */
export function fileForm(content: string | Uint8Array, fields: Record<string, string> = {}, filename = 'audit.txt') {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, content: value }))
  return form([{ name: 'file', filename, content, type: 'application/octet-stream' }, ...texts])
}

export function directoryForm(files: Record<string, string | Uint8Array>, fields: Record<string, string> = {}) {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, content: value }))
  const parts = Object.entries(files).map(([path, content]) => {
    return { name: 'files', filename: path.replaceAll('"', '%22'), content }
  })
  return form([...texts, ...parts])
}

/** Returns the CID of a file of one chunk. */
export async function cidOf(content: string | Uint8Array): Promise<string> {
  return CID.createV1(0x55, await sha256.digest(Buffer.from(content))).toString()
}

/** Fails unless the answer is an error of this status and code in the contract's shape. Returns its body. */
export function assertError(
  answer: Answer,
  status: number,
  code: string,
  mentioning?: string,
): Record<string, unknown> {
  assert.equal(`${answer.status} ${answer.json.code}`, `${status} ${code}`, answer.json.message)
  assert.equal(typeof answer.json.error, 'string')
  assert.equal(typeof answer.json.message, 'string')
  assert.match(answer.header('x-request-id') ?? '', /\S/)
  if (mentioning !== undefined) assert.ok(answer.json.message.includes(mentioning), answer.json.message)
  return answer.json
}

/** Fails unless the answer has one of these statuses. Returns it. */
export async function expectStatus(answer: Promise<Answer>, ...statuses: number[]): Promise<Answer> {
  const settled = await answer
  assert.ok(statuses.includes(settled.status), `${settled.status} ${settled.body.toString()}`)
  return settled
}

/** Fails if the account lists or counts anything. */
export async function assertNothingKept(account: Actor): Promise<void> {
  assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
  assert.deepEqual((await account.request('GET', `${BASE}/users/me`)).json.usage, {
    pins: 0,
    storedBytes: 0,
    keptBytes: 0,
  })
}
