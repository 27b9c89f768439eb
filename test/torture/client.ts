import { Agent, request } from 'node:http'
import { sha256Hex } from '../support/bytes.ts'

export interface Answered {
  status: number
  body: Buffer
}

const AGENT = new Agent({ keepAlive: true })
/** A server that does not answer within this has failed the test. */
const PATIENCE_MS = 60_000

/** A connection that was closed before an answer was whole. */
export class BrokenOff extends Error {}

/** Asks a server as the owner of the key. Fails if the connection breaks before the answer is whole. */
export class Client {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  ask(method: string, path: string, headers: Record<string, string> = {}, body?: Uint8Array): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const fail = (cause: NodeJS.ErrnoException): void => {
        const isBroken = cause.code === 'ECONNRESET'
        reject(isBroken ? new BrokenOff(`the answer to ${method} ${path} broke off`, { cause }) : cause)
      }
      const sent = request(
        `${this.#url}${path}`,
        { method, agent: AGENT, timeout: PATIENCE_MS, headers: { 'x-api-key': this.#key, ...headers } },
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

  /** Every CID that is listed. */
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

  /** The hash of what the gateway serves, in hex; null if it has nothing. */
  async hashOf(cid: string, path: string): Promise<string | null> {
    const target = path === '' ? cid : `${cid}/${path.split('/').map(encodeURIComponent).join('/')}`
    const { status, body } = await this.ask('GET', `/ipfs/${target}`)
    if (status === 404) return null
    if (status !== 200) throw new Error(`the gateway answers ${status} for ${target}: ${body}`)
    return sha256Hex(body)
  }
}
