import { fileURLToPath } from 'node:url'
import { ChildServer } from '../child-server.ts'
import type { FileContent } from '../content.ts'
import type { Subject } from '../contest.ts'
import { HttpClient } from '../http-client.ts'
import { HttpReader } from '../http-reader.ts'
import { MultipartForm } from '../multipart-form.ts'
import { cidOf, startStandalone } from './http.ts'

/** A server in a process of its own that content is put into and read from. */
export type Reader = (dir: string) => Promise<{
  server: ChildServer
  /** Stores content; resolves with the path that it is read from, and with the tag of its bytes if there is one. */
  store(content: FileContent): Promise<{ path: string; etag: string }>
}>

/** One file of a server, which has been read back once and found right. */
export interface Source {
  /** Reads past it, expecting that status; 304 is asked for by its tag. */
  skim(status: 200 | 304): Promise<number>
}

/** A subject that stores the content unless it has it, and is timed while it is read. */
export function readingSubject<W extends FileContent>(
  name: string,
  reader: Reader,
  connections: number,
  read: (source: Source, work: W) => Promise<void>,
): Subject<W> {
  return {
    name,
    async start(dir) {
      const { server, store } = await reader(dir)
      const http = new HttpReader(server.url, connections)
      const sources = new Map<W, Source>()
      const sourceOf = (work: W): Source => {
        const source = sources.get(work)
        if (source === undefined) throw new Error(`${name} was not prepared`)
        return source
      }
      return {
        async prepare(work) {
          if (sources.has(work)) return
          const { path, etag } = await store(work)
          if (!(await http.read(path)).equals(work.bytes)) throw new Error(`${name} sent other bytes than were stored`)
          const source: Source = {
            skim: status => http.skim(path, status, status === 304 ? { 'if-none-match': etag } : {}),
          }
          sources.set(work, source)
          // A server that is measured has been running for a while.
          await read(source, work)
        },
        async run(work) {
          await read(sourceOf(work), work)
          return undefined
        },
        async stop() {
          http.close()
          await server.stop()
        },
      }
    },
  }
}

/** The standalone server. */
export const holdfastReader: Reader = async dir => {
  const { server, headers } = await startStandalone(dir)
  return {
    server,
    async store(content) {
      const form = new MultipartForm([{ name: 'file', filename: 'bench.bin', content: content.bytes }])
      const client = new HttpClient(server.url, headers)
      try {
        const cid = cidOf(JSON.parse(await client.postForm('/api/v3/files', form)))
        return { path: `/ipfs/${cid}`, etag: `"${cid}"` }
      } finally {
        client.close()
      }
    },
  }
}

/** A bare server that sends plain files. */
export const limitReader: Reader = dir => startScript('../file-server.ts', dir)

/** verified-fetch over plain Helia on files and LevelDB, behind a bare server. */
export const verifiedFetchReader: Reader = dir => startScript('../verified-fetch-server.ts', dir)

/** A script that stores what is put at `/` and answers with the path to read it from. */
async function startScript(script: string, dir: string): ReturnType<Reader> {
  const server = await ChildServer.start(fileURLToPath(new URL(script, import.meta.url)), [dir], process.env)
  return {
    server,
    async store(content) {
      const answer = await fetch(`${server.url}/`, { method: 'PUT', body: Uint8Array.from(content.bytes) })
      if (answer.status !== 201) throw new Error(`${script} answered ${answer.status}: ${await answer.text()}`)
      return { path: await answer.text(), etag: '' }
    },
  }
}
