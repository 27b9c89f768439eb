import { readdirSync } from 'node:fs'
import { AbusedServer, clientAddress } from '../abuse/abused-server.ts'
import { Draws } from '../support/draws.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { Canaries, hasCanary } from './canaries.ts'
import { sendFrames } from './frames.ts'
import { KNOWN, nextRequest } from './requests.ts'
import { send } from './wire.ts'

export interface FuzzOptions {
  requests: number
  seed: number
  /** The catalogue is in PostgreSQL. Default: in SQLite. */
  postgres?: boolean
  progress?: (text: string) => void
}

export interface Fuzzed {
  requests: number
  /** How many answers had each status. */
  statuses: Map<number, number>
  longestStallMs: number
  /** Memory and open files of the server at the end, against what they were after the first tenth. */
  growth: { bytes: number; files: number }
}

const SIDE_BY_SIDE = 8
const STEP = 1_000
/** Statuses from 500 that are documented: not offered, busy, full. */
const DOCUMENTED = [501, 503, 507]
/** One message of the exchange for so many requests. */
const REQUESTS_PER_FRAME = 20
/** Requests up to which the server logs each of them. */
const MOST_LOGGED = 20_000
/** Requests of one client address: few enough that the limit on malformed requests refuses none of them. */
const REQUESTS_PER_CLIENT = 50

/**
 * Sends generated requests to a real server, the same ones for the same seed. Another account has private content.
 *
 * @throws Error for an undocumented 5xx, a hang, a crash or private content, with the request that caused it
 */
export async function fuzz({ requests, seed, postgres = false, progress = () => {} }: FuzzOptions): Promise<Fuzzed> {
  const catalogue = postgres ? await startPostgres() : null
  const longestMs = Math.max(120_000, requests * 100)
  const logLevel = requests > MOST_LOGGED ? 'error' : 'info'
  const config = { webhooks: { allowPrivate: true } }
  const server = await AbusedServer.start({ longestMs, logLevel, config, database: await catalogue?.fresh() })
  let canaries: Canaries | null = null
  try {
    await server.store(KNOWN)
    canaries = await Canaries.plant(server)
    const keys = [server.key, server.key, server.key, canaries.otherKey] as const
    await server.watched.reset()
    const port = Number(new URL(server.url).port)
    const draws = new Draws(seed)
    const statuses = new Map<number, number>()
    let sent = 0
    const run = async (count: number): Promise<void> => {
      let left = count
      const work = async (): Promise<void> => {
        while (left-- > 0) {
          const request = await nextRequest(draws, keys)
          request.headers.push(['x-forwarded-for', clientAddress(Math.floor(sent++ / REQUESTS_PER_CLIENT))])
          const { status, body } = await send(port, request).catch(cause => {
            throw new Error(`no answer: ${describe(request)}`, { cause })
          })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (hasCanary(body)) throw new Error(`private content in an answer: ${describe(request)}`)
          if (status >= 500 && !DOCUMENTED.includes(status)) throw new Error(`${status} ${body}\n${describe(request)}`)
        }
      }
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
      await sendFrames(server.peerAddress, draws, Math.ceil(count / REQUESTS_PER_FRAME))
    }
    const first = Math.ceil(requests / 10)
    let before = standing(server)
    for (let done = 0; done < requests; ) {
      const count = Math.min(STEP, (done < first ? first : requests) - done)
      await run(count)
      done += count
      if (done === first) before = standing(server)
      progress(`${done} of ${requests}: stall ${server.watched.longestStall()} ms`)
    }
    if ((await server.ask('/health')).status !== 200) throw new Error('the server is not well')
    if ((await server.ask('/api/v3/users/me')).status !== 200) throw new Error('the key of the owner no longer works')
    await canaries.check()
    const after = standing(server)
    return {
      requests,
      statuses,
      longestStallMs: server.watched.longestStall(),
      growth: { bytes: after.bytes - before.bytes, files: after.files - before.files },
    }
  } finally {
    await canaries?.end()
    await server.stop()
    await catalogue?.stop()
  }
}

function standing({ watched }: AbusedServer): { bytes: number; files: number } {
  const files = process.platform === 'linux' ? readdirSync(`/proc/${watched.process.pid}/fd`).length : 0
  return { bytes: watched.memory() ?? 0, files }
}

function describe(request: { method: string; path: string; headers: unknown; body: Buffer }): string {
  const { method, path, headers, body } = request
  return JSON.stringify({ method, path, headers, body: body.toString('latin1') })
}
