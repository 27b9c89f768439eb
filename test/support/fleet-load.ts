import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeProcess } from './fleet-processes.ts'

/** Bytes of the larger uploads. They arrive while a node stops. */
const LARGE_BYTES = 2 * 1024 ** 2

/** Pause of a client between two requests. */
const PAUSE_MS = 10

/** Answers of one kind of request by status, and the longest wait in ms. */
export interface Answers {
  counts: Record<string, number>
  longestMs: number
}

/** A steady mix of requests to a proxy. Each kind has its own clients, which send one request at a time. */
export class FleetLoad {
  readonly #node: NodeProcess
  readonly #url: string
  readonly #clusters: readonly string[]
  readonly #answers = new Map<string, Answers>()
  readonly #clients: Promise<void>[] = []
  #isEnding = false
  #sent = 0

  /** @param node whose key the clients use */
  constructor(node: NodeProcess, url: string, clusters: readonly string[]) {
    this.#node = node
    this.#url = url
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

  /** Resolves when each client has its last answer. */
  async end(): Promise<Record<string, Answers>> {
    this.#isEnding = true
    await Promise.all(this.#clients)
    return Object.fromEntries(this.#answers)
  }

  #repeat(kind: string, send: () => Promise<string>): void {
    const answers = this.#answers.get(kind) ?? { counts: {}, longestMs: 0 }
    this.#answers.set(kind, answers)
    const client = async (): Promise<void> => {
      while (!this.#isEnding) {
        const begun = performance.now()
        const status = await send().catch((error: Error) => `broken: ${error.cause ?? error}`)
        answers.counts[status] = (answers.counts[status] ?? 0) + 1
        answers.longestMs = Math.max(answers.longestMs, Math.round(performance.now() - begun))
        await sleep(PAUSE_MS)
      }
    }
    this.#clients.push(client())
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
