import { randomFillSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChildServer } from './child-server.ts'
import { HttpClient } from './http-client.ts'
import { MultipartForm } from './multipart-form.ts'
import { cidOf, startStandalone } from './services/holdfast.ts'

export class LoadedServer {
  readonly #server: ChildServer
  readonly #headers: Record<string, string>
  readonly #dir: string
  readonly #client: HttpClient
  #directories = 0

  private constructor(server: ChildServer, headers: Record<string, string>, dir: string) {
    this.#server = server
    this.#headers = headers
    this.#dir = dir
    this.#client = new HttpClient(server.url, headers)
  }

  /** Starts a server, which the caller stops. @param dir a directory for its data, empty or filled */
  static async start(dir: string, config?: string): Promise<LoadedServer> {
    const { server, headers } = await startStandalone(dir, config === undefined ? {} : { config })
    return new LoadedServer(server, headers, dir)
  }

  get url(): string {
    return this.#server.url
  }

  get pid(): number {
    return this.#server.pid
  }

  /** Uploads one file over a new connection. Returns its CID. */
  async uploadFile(content: Uint8Array, filename = 'bench.bin'): Promise<string> {
    const client = new HttpClient(this.url, this.#headers)
    try {
      const form = new MultipartForm([{ name: 'file', filename, content }])
      return cidOf(JSON.parse(await client.postForm('/api/v3/files', form)))
    } finally {
      client.close()
    }
  }

  /** Uploads distinct small files. Returns the directory's CID. */
  async uploadDirectory(files: number): Promise<string> {
    const parts = smallFiles(files).map(({ name, content }) => ({ name: 'files[]', filename: name, content }))
    return cidOf(JSON.parse(await this.#client.postForm('/api/v3/files/directory-dag', new MultipartForm(parts))))
  }

  /** Writes distinct small files to the import folder, for {@link importDirectory}. Returns their directory. */
  async writeDirectory(files: number): Promise<string> {
    const name = `directory-${++this.#directories}`
    const path = join(this.#dir, 'import', name)
    await mkdir(path, { recursive: true })
    for (const { name, content } of smallFiles(files)) await writeFile(join(path, name), content)
    return name
  }

  async importDirectory(dirPath: string): Promise<void> {
    await this.call('POST', '/api/v3/files/directory', { dirPath })
  }

  /** Imports a CAR, which may be incomplete. */
  async importPartial(car: Uint8Array): Promise<void> {
    const path = '/api/v3/files/car?allowPartial=true'
    await this.#send('POST', path, { 'content-type': 'application/vnd.ipld.car' }, Buffer.from(car))
  }

  async remove(cid: string): Promise<void> {
    await this.call('DELETE', `/api/v3/files/remove/${cid}`)
  }

  async call(method: string, path: string, body?: object): Promise<void> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    await this.#send(method, path, type, body === undefined ? undefined : JSON.stringify(body))
  }

  async read(cid: string, format: string): Promise<void> {
    const response = await fetch(`${this.url}/ipfs/${cid}?format=${format}`)
    if (response.status !== 200 || response.body === null) throw new Error(`GET of ${format}: ${response.status}`)
    for await (const _ of response.body);
  }

  async stop(): Promise<void> {
    this.#client.close()
    await this.#server.stop()
  }

  async #send(method: string, path: string, headers: Record<string, string>, body?: string | Buffer<ArrayBuffer>) {
    const init = { method, headers: { ...this.#headers, ...headers }, ...(body === undefined ? {} : { body }) }
    const response = await fetch(`${this.url}${path}`, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`)
  }
}

function smallFiles(count: number): Array<{ name: string; content: Uint8Array }> {
  const seed = randomFillSync(Buffer.alloc(8)).toString('hex')
  return Array.from({ length: count }, (_, index) => ({
    name: `file-${index}.txt`,
    content: Buffer.from(`file ${index} of ${seed}`),
  }))
}
