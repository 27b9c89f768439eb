import { Agent, type IncomingMessage, request } from 'node:http'

/** Reads from one server over connections that are kept. Whoever creates it closes it. */
export class HttpReader {
  readonly #base: string
  readonly #agent: Agent

  constructor(base: string, connections: number) {
    this.#base = base
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** Reads an answer to its end and past it. Resolves with the bytes that it had; another status is an error. */
  async skim(path: string, status: number, headers: Record<string, string> = {}): Promise<number> {
    const response = await this.#get(path, headers)
    let bytes = 0
    response.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
    })
    await new Promise<void>((resolve, reject) => {
      response.once('end', resolve)
      response.once('error', reject)
    })
    if (response.statusCode !== status) throw new Error(`GET ${path} was answered ${response.statusCode}`)
    return bytes
  }

  /** The whole of an answer. */
  async read(path: string): Promise<Buffer> {
    const response = await this.#get(path, {})
    const chunks: Uint8Array[] = []
    for await (const chunk of response) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (response.statusCode === 200) return body
    throw new Error(`GET ${path} was answered ${response.statusCode}: ${body.subarray(0, 300)}`)
  }

  close(): void {
    this.#agent.destroy()
  }

  #get(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.#base}${path}`, { agent: this.#agent, headers })
      outgoing.once('response', resolve)
      outgoing.once('error', reject)
      outgoing.end()
    })
  }
}
