import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { NodeProcess } from './fleet-processes.ts'

/** Bytes of the larger uploads. They arrive while a node stops. */
const LARGE_BYTES = 5 * 1024 ** 2

const SMALL_BYTES = 100_000
/** Rate of a slow download. */
const BYTES_PER_SECOND = 1_000_000

/** Pause of a client between two requests. */
const PAUSE_MS = 10
/** Time after which each proxy has seen that a node is ready, as the guide says. */
const CHECKED_MS = 2_000

/** Answers of one kind of request by status, and the longest wait in ms. */
export interface Answers {
  counts: Record<string, number>
  longestMs: number
}

/** A steady mix of requests to a proxy. Each kind has its own clients, which send one request at a time. */
export class FleetLoad {
  readonly #node: NodeProcess
  readonly #url: string
  readonly #gateway: string
  readonly #clusters: readonly string[]
  readonly #downloadSeconds: readonly number[]
  /** The slow downloads, by the name of their answers. */
  readonly #large: Array<{ kind: string; cid: string }> = []
  readonly #answers = new Map<string, Answers>()
  readonly #clients: Promise<void>[] = []
  #isEnding = false
  #sent = 0

  /**
   * @param node whose key the clients use
   * @param downloadSeconds how long slow downloads take
   */
  constructor(
    node: NodeProcess,
    proxy: { url: string; gateway: string },
    clusters: readonly string[],
    downloadSeconds: readonly number[] = [60],
  ) {
    this.#downloadSeconds = downloadSeconds
    this.#node = node
    this.#url = proxy.url
    this.#gateway = proxy.gateway
    this.#clusters = clusters
  }

  start(): this {
    for (let i = 0; i < 4; i++) this.#repeat('list', () => this.#ask('GET', '/api/v3/users/me/uploads?limit=5'))
    for (const cluster of this.#clusters) {
      this.#repeat('upload', () => this.#upload(cluster, 1_000))
      this.#repeat('large upload', () => this.#upload(cluster, LARGE_BYTES))
    }
    return this
  }

  /** Uploads content to each cluster, and reads the small files through the gateway. */
  async startReading(): Promise<void> {
    for (const cluster of this.#clusters) {
      const small = await this.#stored(cluster, SMALL_BYTES)
      for (const seconds of this.#downloadSeconds) {
        const kind = this.#downloadSeconds.length === 1 ? 'download' : `download of ${seconds} s`
        this.#large.push({ kind, cid: await this.#stored(cluster, seconds * BYTES_PER_SECOND) })
      }
      this.#repeat('read', () => this.#read(small))
    }
  }

  /** Begins a slow download of the content of each cluster. */
  beginDownloads(): void {
    for (const { kind, cid } of this.#large) this.#clients.push(this.#note(kind, () => this.#download(cid)))
  }

  /** Resolves after so many more answers of one kind. */
  async more(kind: string, count: number): Promise<void> {
    const end = this.#count(kind) + count
    while (this.#count(kind) < end) await sleep(PAUSE_MS)
  }

  #count(kind: string): number {
    return Object.values(this.#answers.get(kind)?.counts ?? {}).reduce((sum, counted) => sum + counted, 0)
  }

  /** Resolves when each client has its last answer. */
  async end(): Promise<Record<string, Answers>> {
    this.#isEnding = true
    await Promise.all(this.#clients)
    return Object.fromEntries(this.#answers)
  }

  #repeat(kind: string, send: () => Promise<string>): void {
    const client = async (): Promise<void> => {
      while (!this.#isEnding) {
        await this.#note(kind, send)
        await sleep(PAUSE_MS)
      }
    }
    this.#clients.push(client())
  }

  async #note(kind: string, send: () => Promise<string>): Promise<void> {
    const answers = this.#answers.get(kind) ?? { counts: {}, longestMs: 0 }
    this.#answers.set(kind, answers)
    const begun = performance.now()
    const status = await send().catch((error: Error) => `broken: ${error.cause ?? error}`)
    answers.counts[status] = (answers.counts[status] ?? 0) + 1
    answers.longestMs = Math.max(answers.longestMs, Math.round(performance.now() - begun))
  }

  async #stored(cluster: string, bytes: number): Promise<string> {
    const form = new FormData()
    form.set('file', new Blob([cluster.padEnd(bytes, '.'), String(bytes)]), 'f')
    const { status, json } = await this.#node.call<{ cid: string }>('POST', '/api/v3/files', form, {
      'x-cluster': cluster,
    })
    if (status >= 400) throw new Error(`the upload to ${cluster} was answered ${status} ${JSON.stringify(json)}`)
    return json.cid
  }

  /** Returns the status. An error of a node has its message, an error of the proxy has none. */
  async #read(cid: string): Promise<string> {
    const answer = await fetch(`${this.#gateway}/ipfs/${cid}`)
    const text = await answer.text()
    if (answer.status < 400) return `${answer.status}`
    const isOfNode = answer.headers.has('access-control-allow-origin')
    return `${answer.status} ${isOfNode ? (JSON.parse(text) as { message: string }).message : 'proxy'}`
  }

  /** Returns the status, and whether the connection broke. */
  async #download(cid: string): Promise<string> {
    const asked = http.get(`${this.#gateway}/ipfs/${cid}`, { agent: false })
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const begun = performance.now()
    let bytes = 0
    try {
      for await (const chunk of answer) {
        bytes += (chunk as Buffer).length
        // A late timer makes the next pause shorter.
        const early = (bytes / BYTES_PER_SECOND) * 1_000 - (performance.now() - begun)
        if (early > 0) await sleep(early)
      }
      return `${answer.statusCode}`
    } catch {
      return `${answer.statusCode} broken`
    }
  }

  #upload(cluster: string, bytes: number): Promise<string> {
    const form = new FormData()
    form.set('file', new Blob([`${this.#sent++}`.padEnd(bytes, '.')]), 'f')
    return this.#ask('POST', '/api/v3/files', form, { 'x-cluster': cluster })
  }

  /** Returns the status. An error of a node has its code, an error of the proxy has none. */
  async #ask(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<string> {
    const { status, json } = await this.#node.callAt<{ code?: string } | null>(this.#url, method, path, body, headers)
    return status < 400 ? `${status}` : `${status} ${json?.code ?? 'proxy'}`
  }
}

/** Restarts nodes one after the other. Downloads begin before each stop. */
export async function restartInTurn(load: FleetLoad, nodes: readonly NodeProcess[]): Promise<void> {
  for (const node of nodes) {
    const { server } = node
    load.beginDownloads()
    server.signal('SIGTERM')
    expect(await server.ended()).toBe(0)
    await node.start()
    await expect.poll(async () => (await fetch(`${node.url}/ready`)).status).toBe(200)
    await sleep(CHECKED_MS)
  }
}
