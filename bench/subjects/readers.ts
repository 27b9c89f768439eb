import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ChildServer } from '../child-server.ts'
import { sendWithNode } from '../clients/node-client.ts'
import type { FormContent } from '../content.ts'
import type { Outcome, Subject } from '../contest.ts'
import { findProgram } from '../programs.ts'
import { kuboKinds } from '../services/kubo.ts'
import { startNginx } from '../services/nginx.ts'
import { type Call, call, type ServiceKind } from '../services/service.ts'

/** What a gateway's readers are at most, which is what the bare servers get to be compared with. */
const THREADS = Math.min(availableParallelism(), 4)

/** A server in a process of its own that content is put into and read from. */
export interface Reader {
  readonly name: string
  start(dir: string): Promise<RunningReader>
}

interface RunningReader {
  pids: readonly number[]
  /** Stores content; resolves with where each of its files is read. */
  store(content: FormContent): Promise<Source[]>
  stop(): Promise<void>
}

/** A file of a server, which has been read back once and found right. */
export interface Source extends Call {
  /** The tag of its bytes, if there is one. */
  etag: string
}

/** A subject that stores the content unless it has it, and is timed while it is read. */
export function readingSubject<W extends FormContent>(
  reader: Reader,
  name: string,
  read: (sources: Source[], work: W) => Promise<Outcome>,
): Subject<W> {
  return {
    name,
    async start(dir) {
      const server = await reader.start(dir)
      const stored = new Map<W, Source[]>()
      return {
        pids: server.pids,
        async prepare(work) {
          if (stored.has(work)) return
          const sources = await server.store(work)
          stored.set(work, sources)
          // A server that is measured has been running for a while.
          await read(sources, work)
        },
        async run(work) {
          const sources = stored.get(work)
          if (sources === undefined) throw new Error(`${name} was not prepared`)
          return read(sources, work)
        },
        stop: () => server.stop(),
      }
    },
  }
}

/** A service that is read by its gateway. */
export function gatewayReader({ name, start }: ServiceKind): Reader {
  return {
    name,
    async start(dir) {
      const service = await start(dir)
      await service.startReading?.()
      return {
        pids: service.pids,
        async store(content) {
          const { files } = content
          const kind = files.length > 1 ? 'tree' : 'file'
          const { path, contentType } = await content.formFile(join(dir, '..', 'form.bin'))
          const to = service.upload(kind)
          const { body } = await sendWithNode(to, path, contentType)
          const cid = service.rootOf(body)
          const read = service.read
          if (read === undefined) throw new Error(`${name} has no gateway`)
          return readBack(
            files.map(file => ({ bytes: file.bytes, call: read(kind === 'tree' ? `${cid}/${file.path}` : cid) })),
          )
        },
        stop: () => service.stop(),
      }
    },
  }
}

/** All services of others that have a gateway. */
export function gatewayContenders(): Reader[] {
  return kuboKinds()
    .filter(({ name }) => name !== 'kubo-sync')
    .map(gatewayReader)
}

/** A bare server that sends plain files, in one thread. */
export const limitReader: Reader = scriptReader('limit', '../file-server.ts', [])

/** The same in as many threads as the gateway has. */
export const limitThreadsReader: Reader = scriptReader('limit-threads', '../file-server.ts', [`${THREADS}`])

/** verified-fetch over plain Helia on files and LevelDB, behind a bare server. */
export const verifiedFetchReader: Reader = scriptReader('verified-fetch', '../verified-fetch-server.ts', [])

/** nginx with as many processes, where there is one. */
export function nginxReaders(): Reader[] {
  const program = findProgram('nginx')
  if (program === null) return []
  return [
    {
      name: 'nginx',
      async start(dir) {
        const nginx = await startNginx(program, dir, THREADS)
        return {
          pids: [nginx.pid],
          async store(content) {
            const sources = content.files.map(async ({ bytes }) => {
              const name = randomUUID()
              await writeFile(join(nginx.files, name), bytes)
              return { bytes, call: { method: 'GET', url: `${nginx.url}/${name}`, headers: {} } }
            })
            return readBack(await Promise.all(sources))
          },
          stop: () => nginx.stop(),
        }
      },
    },
  ]
}

/** A script that stores what is put at `/` and answers with the path to read it from. */
function scriptReader(name: string, script: string, args: readonly string[]): Reader {
  return {
    name,
    async start(dir) {
      const server = await ChildServer.start(
        fileURLToPath(new URL(script, import.meta.url)),
        [dir, ...args],
        process.env,
      )
      return {
        pids: [server.pid],
        async store(content) {
          const stored: Array<{ bytes: Uint8Array; call: Call }> = []
          for (const { bytes } of content.files) {
            const path = await call({ method: 'PUT', url: `${server.url}/`, headers: {} }, bytes)
            stored.push({ bytes, call: { method: 'GET', url: server.url + path, headers: {} } })
          }
          return readBack(stored)
        },
        stop: () => server.stop(),
      }
    },
  }
}

/** Reads the first and the last of them, and takes the tag of all. @throws Error for other bytes than were stored */
async function readBack(stored: ReadonlyArray<{ bytes: Uint8Array; call: Call }>): Promise<Source[]> {
  let etag = ''
  for (const { bytes, call } of [stored[0], stored.at(-1)].filter(file => file !== undefined)) {
    const response = await fetch(call.url, { headers: call.headers })
    if (!Buffer.from(await response.arrayBuffer()).equals(bytes)) throw new Error(`${call.url}: not what was stored`)
    etag = response.headers.get('etag') ?? ''
  }
  return stored.map(({ call }) => ({ ...call, etag }))
}
