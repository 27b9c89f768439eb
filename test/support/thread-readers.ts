import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openPool, type ReadEngine, type Readers, type ReadersOptions } from '../../adapters/node-http/readers.ts'
import { type GatewayAnswer, portClient } from '../gateway/client.ts'
import { MAIN, SOURCES } from './server-process.ts'

const ENTRY = new URL('./reader-entry.ts', import.meta.url)
if (MAIN !== SOURCES) ENTRY.searchParams.set('thread', pathToFileURL(join(dirname(MAIN), 'reader-thread.js')).href)

/** Each answer says which thread gave it. */
export interface ThreadReaders extends Readers {
  /** Sends a GET over a new connection, so that the threads take turns. */
  get(path: string, headers?: Record<string, string>): Promise<GatewayAnswer>
  /** Repeats a request until each thread has answered it. Returns one answer of each. */
  getFromAll(path: string): Promise<GatewayAnswer[]>
  stop(ms?: number): Promise<void>
}

/** Starts reader threads. Resolves when all of them serve and this thread no longer does. */
export async function threadReaders(
  engine: ReadEngine,
  { threads = 2, ...options }: ReadersOptions = {},
  sharesPort = true,
): Promise<ThreadReaders> {
  const pool = await openPool(engine, { threads, ...options }, { entry: ENTRY, sharesPort })
  const { port } = pool
  const get: ThreadReaders['get'] = async (path, headers) => {
    const client = portClient(port)
    try {
      return await client.request('GET', path, headers)
    } finally {
      client.close()
    }
  }
  const getFromAll = async (path: string): Promise<GatewayAnswer[]> => {
    const answers = new Map<string, GatewayAnswer>()
    while (answers.size < threads) {
      const answer = await get(path).catch(() => null)
      const thread = answer?.header('x-thread')
      // Until all threads have started, this thread answers too, without the header.
      if (answer !== null && thread !== undefined) answers.set(thread, answer)
    }
    return [...answers.values()]
  }
  await getFromAll('/')
  while ((await get('/').catch(() => null))?.header('x-thread') === undefined);
  const { answersEnded, stop } = pool
  return { port, get, getFromAll, answersEnded: answersEnded.bind(pool), stop: (ms = 0) => stop.call(pool, ms) }
}

/** Requests a path, and reads only the head of the answer. */
export async function beginReading({ port }: ThreadReaders, path: string): Promise<IncomingMessage> {
  const asked = http.get({ host: '127.0.0.1', port, path, agent: false })
  asked.on('error', () => undefined)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return answer.on('error', () => undefined)
}
