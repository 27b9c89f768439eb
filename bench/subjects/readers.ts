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

/** Threads of the bare servers, as many as the gateway has readers at most. */
const THREADS = Math.min(availableParallelism(), 4)

/** A server in its own process that stores content and serves it. */
export interface Reader {
  readonly name: string
  start(dir: string): Promise<RunningReader>
}

interface RunningReader {
  pids: readonly number[]
  /** Stores content. Resolves with the request for each of its files. */
  store(content: FormContent): Promise<Source[]>
  stop(): Promise<void>
}

/** A request for a stored file, whose bytes were checked once. */
export interface Source extends Call {
  /** ETag of the file; empty if the server sends none. */
  etag: string
}

/** Returns a subject that stores each content once, and is timed while it serves it. */
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
          // A warm-up, because a real server has been running for a while.
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

/** Adapts a service that is read through its gateway. */
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

export function gatewayContenders(): Reader[] {
  return kuboKinds()
    .filter(({ name }) => name !== 'kubo-sync')
    .map(gatewayReader)
}

export const limitReader: Reader = scriptReader('limit', '../file-server.ts', [])

export const limitThreadsReader: Reader = scriptReader('limit-threads', '../file-server.ts', [`${THREADS}`])

/** verified-fetch on plain Helia with files and LevelDB, behind a bare server. */
export const verifiedFetchReader: Reader = scriptReader('verified-fetch', '../verified-fetch-server.ts', [])

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

/** Adapts a script that stores what is put at `/`, and answers with the path to read it from. */
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

/**
 * Checks the first and the last file, and takes the last one's ETag for all. @throws Error for other bytes than stored
 */
async function readBack(stored: ReadonlyArray<{ bytes: Uint8Array; call: Call }>): Promise<Source[]> {
  let etag = ''
  for (const { bytes, call } of [stored[0], stored.at(-1)].filter(file => file !== undefined)) {
    const response = await fetch(call.url, { headers: call.headers })
    if (!Buffer.from(await response.arrayBuffer()).equals(bytes)) throw new Error(`${call.url}: not what was stored`)
    etag = response.headers.get('etag') ?? ''
  }
  return stored.map(({ call }) => ({ ...call, etag }))
}
