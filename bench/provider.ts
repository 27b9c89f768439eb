import type { ChildServer } from './child-server.ts'
import { FileContent, TreeContent } from './content.ts'
import type { Work } from './contest.ts'
import { HttpClient } from './http-client.ts'
import { type FormPart, MultipartForm } from './multipart-form.ts'
import { cidOf, startStandalone } from './services/holdfast.ts'

/** The standalone server in a process of its own, from which subjects fetch what was uploaded to it. */
export class Provider {
  readonly #server: ChildServer
  readonly #client: HttpClient
  /** The multiaddr by which it is reached on this machine. */
  readonly address: string

  private constructor(server: ChildServer, client: HttpClient, address: string) {
    this.#server = server
    this.#client = client
    this.address = address
  }

  /** The caller stops it. */
  static async start(dir: string): Promise<Provider> {
    const { server, headers } = await startStandalone(dir)
    const address = await server.said(/^peer address +(\S+)$/)
    return new Provider(server, new HttpClient(server.url, headers), address)
  }

  async hold(path: string, parts: FormPart[]): Promise<string> {
    return cidOf(JSON.parse(await this.#client.postForm(path, new MultipartForm(parts))))
  }

  async stop(): Promise<void> {
    this.#client.close()
    await this.#server.stop()
  }
}

/** Content that a provider holds, to be fetched by its CID. */
export abstract class HeldWork implements Work {
  readonly provider: Provider
  #cid: Promise<string> | null = null

  constructor(provider: Provider) {
    this.provider = provider
  }

  refill(): void {
    this.renew()
    this.#cid = null
  }

  /** Resolves with the CID once the provider holds it, for whichever subject asks first. */
  held(): Promise<string> {
    this.#cid ??= this.upload()
    return this.#cid
  }

  protected abstract renew(): void
  protected abstract upload(): Promise<string>
}

/** One large file. */
export class HeldFile extends HeldWork {
  readonly content: FileContent

  constructor(provider: Provider, size: number) {
    super(provider)
    this.content = new FileContent(size)
  }

  protected renew(): void {
    this.content.refill()
  }

  protected upload(): Promise<string> {
    return this.provider.hold('/api/v3/files', this.content.parts())
  }
}

/** A tree of small files. */
export class HeldTree extends HeldWork {
  readonly content: TreeContent

  constructor(provider: Provider, fileCount: number, fileBytes: number) {
    super(provider)
    this.content = new TreeContent(fileCount, fileBytes)
  }

  protected renew(): void {
    this.content.refill()
  }

  protected upload(): Promise<string> {
    return this.provider.hold('/api/v3/files/directory-dag', this.content.parts())
  }
}
