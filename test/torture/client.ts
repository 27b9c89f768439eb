import { Agent, request } from 'node:http'
import { sha256Hex } from '../support/bytes.ts'

export interface Answered {
  status: number
  body: Buffer
}

/** Statuses that a node may answer while another node or the database is down. */
export const UNAVAILABLE: readonly number[] = [502, 503, 504]

const AGENT = new Agent({ keepAlive: true })
/** Milliseconds after which a missing answer fails the test. */
const PATIENCE_MS = 240_000

/** The connection was refused, or closed before the answer was complete. */
export class BrokenOff extends Error {}

/** The server answered that it is unavailable at the moment. */
export class NotNow extends Error {}

/** Sends requests to a server as the owner of a key. Rejects if the connection breaks before the answer is complete. */
export class Client {
  readonly #url: string
  readonly #key: string

  readonly #headers: Record<string, string>

  /** @param headers added to each request */
  constructor(url: string, key: string, headers: Record<string, string> = {}) {
    this.#headers = headers
    this.#url = url
    this.#key = key
  }

  ask(method: string, path: string, headers: Record<string, string> = {}, body?: Uint8Array): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const fail = (cause: NodeJS.ErrnoException): void => {
        const isBroken = cause.code === 'ECONNRESET' || cause.code === 'EPIPE' || cause.code === 'ECONNREFUSED'
        reject(isBroken ? new BrokenOff(`the answer to ${method} ${path} broke off`, { cause }) : cause)
      }
      const sent = request(
        `${this.#url}${path}`,
        {
          method,
          agent: AGENT,
          timeout: PATIENCE_MS,
          headers: { 'x-api-key': this.#key, ...this.#headers, ...headers },
        },
        response => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
          response.on('error', fail)
          response.on('close', () => reject(new BrokenOff(`the answer to ${method} ${path} was cut off`)))
        },
      )
      sent.on('timeout', () => sent.destroy(new Error(`no answer to ${method} ${path}`)))
      sent.on('error', fail)
      sent.end(body)
    })
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<{ status: number; json: T }> {
    const answer =
      body === undefined
        ? await this.ask(method, path)
        : await this.ask(method, path, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(body)))
    return { status: answer.status, json: JSON.parse(answer.body.toString()) as T }
  }

  /** Returns every CID that the account lists. */
  async list(): Promise<string[]> {
    const cids: string[] = []
    for (let page = 1; ; page++) {
      const { status, json } = await this.json<{ uploads: { cid: string }[]; total: number }>(
        'GET',
        `/api/v3/users/me/uploads?limit=500&page=${page}`,
      )
      if (status !== 200) throw new Error(`no list: ${status}`)
      cids.push(...json.uploads.map(upload => upload.cid))
      if (json.uploads.length === 0 || cids.length >= json.total) return cids
    }
  }

  /** Returns the SHA-256 in hex of a gateway's answer; null for a 404. */
  async hashOf(cid: string, path: string): Promise<string | null> {
    const target = path === '' ? cid : `${cid}/${path.split('/').map(encodeURIComponent).join('/')}`
    const { status, body } = await this.ask('GET', `/ipfs/${target}`)
    if (status === 404) return null
    if (UNAVAILABLE.includes(status)) throw new NotNow(`the gateway answers ${status} for ${target}`)
    if (status !== 200) throw new Error(`the gateway answers ${status} for ${target}: ${body}`)
    return sha256Hex(body)
  }
}
