import { join } from 'node:path'
import type { ChildServer } from './child-server.ts'
import { sendWithNode } from './clients/node-client.ts'
import type { FormContent } from './content.ts'
import type { Work } from './contest.ts'
import { HttpClient } from './http-client.ts'
import { MultipartForm } from './multipart-form.ts'
import { cidOf, startStandalone } from './services/holdfast.ts'
import { startKubo } from './services/kubo.ts'

/** A system that holds content for others to fetch. */
export interface Holder {
  /** Its multiaddress on this machine. */
  readonly address: string
  /** Stores content. Returns its CID. */
  hold(content: FormContent): Promise<string>
  stop(): Promise<void>
}

/** Starts a Kubo, which the caller stops. */
export async function startKuboHolder(program: string, dir: string): Promise<Holder> {
  const kubo = await startKubo(program, dir, {})
  return {
    address: await kubo.address(),
    async hold(content) {
      const { path, contentType } = await content.formFile(join(dir, 'form.bin'))
      const to = kubo.upload(content.files.length > 1 ? 'tree' : 'file')
      return kubo.rootOf((await sendWithNode(to, path, contentType)).body)
    },
    stop: () => kubo.stop(),
  }
}

/** The standalone server as a holder of content. */
export class Provider implements Holder {
  readonly #server: ChildServer
  readonly #client: HttpClient
  /** Its multiaddress on this machine. */
  readonly address: string

  private constructor(server: ChildServer, client: HttpClient, address: string) {
    this.#server = server
    this.#client = client
    this.address = address
  }

  /** Starts a server. The caller stops it. */
  static async start(dir: string): Promise<Provider> {
    const { server, headers } = await startStandalone(dir)
    const address = await server.said(/^peer address +(\S+)$/)
    return new Provider(server, new HttpClient(server.url, headers), address)
  }

  async hold(content: FormContent): Promise<string> {
    const path = content.files.length > 1 ? '/api/v3/files/directory-dag' : '/api/v3/files'
    return cidOf(JSON.parse(await this.#client.postForm(path, new MultipartForm(content.parts()))))
  }

  async stop(): Promise<void> {
    this.#client.close()
    await this.#server.stop()
  }
}

export class HeldWork implements Work {
  readonly content: FormContent
  readonly #holder: Holder
  #cid: Promise<string> | null = null

  constructor(holder: Holder, content: FormContent) {
    this.#holder = holder
    this.content = content
  }

  refill(): void {
    this.content.refill()
    this.#cid = null
  }

  /** Stores the content at the first call. Resolves with its CID. */
  held(): Promise<string> {
    this.#cid ??= this.#holder.hold(this.content)
    return this.#cid
  }
}
