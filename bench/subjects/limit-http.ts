import { fileURLToPath } from 'node:url'
import { ChildServer } from '../child-server.ts'
import type { FileContent } from '../content.ts'
import type { Subject } from '../contest.ts'
import { HttpClient } from '../http-client.ts'
import { MultipartForm } from '../multipart-form.ts'

const SCRIPT = fileURLToPath(new URL('../plain-server.ts', import.meta.url))

/** The body that `http` gets, to a bare server that hashes it into one plain file. */
export const limitHttp: Subject<FileContent> = {
  name: 'limit-http',
  async start(dir) {
    const server = await ChildServer.start(SCRIPT, [dir], process.env)
    const client = new HttpClient(server.url)
    return {
      async run(content) {
        await client.postForm('/', new MultipartForm([{ name: 'file', filename: 'x.bin', content: content.bytes }]))
        return undefined
      },
      async stop() {
        client.close()
        await server.stop()
      },
    }
  },
}
