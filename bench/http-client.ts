import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { MultipartForm } from './multipart-form.ts'

/** Posts forms to one server over a single persistent connection. The caller closes it. */
export class HttpClient {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(base: string, headers: Readonly<Record<string, string>> = {}) {
    this.#base = base
    this.#headers = headers
  }

  /** Resolves with the body of the answer. @throws Error for an unsuccessful answer */
  async postForm(path: string, form: MultipartForm): Promise<string> {
    const outgoing = request(`${this.#base}${path}`, {
      method: 'POST',
      agent: this.#agent,
      headers: { ...this.#headers, 'content-type': form.contentType, 'content-length': form.contentLength },
    })
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve)
      outgoing.once('error', reject)
    })
    // Without this handler, a failure during the writing would count as unhandled.
    answer.catch(() => undefined)
    for (const chunk of form.chunks()) {
      if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), answer])
      if (outgoing.destroyed) break
    }
    outgoing.end()
    const response = await answer
    const body = await text(response)
    if (response.statusCode !== 200 && response.statusCode !== 201) {
      throw new Error(`POST ${path} was answered ${response.statusCode}: ${body.slice(0, 300)}`)
    }
    return body
  }

  close(): void {
    this.#agent.destroy()
  }
}
