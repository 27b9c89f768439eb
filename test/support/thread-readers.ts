import { openPool, type ReadEngine, type ReadersOptions } from '../../adapters/node-http/readers.ts'
import { type GatewayAnswer, portClient } from '../gateway/client.ts'

const ENTRY = new URL('./reader-entry.ts', import.meta.url)

/** The readers of a test: threads that tell which of them has answered. */
export interface ThreadReaders {
  port: number
  /** Over a connection of its own each, so that the threads take turns. */
  get(path: string, headers?: Record<string, string>): Promise<GatewayAnswer>
  /** The answer of each thread to the same request. */
  getFromAll(path: string): Promise<GatewayAnswer[]>
  stop(): Promise<void>
}

/** Resolves when so many threads serve, and this one does not any more. */
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
      // Whoever comes while the threads start is answered by the first.
      if (answer !== null && thread !== undefined) answers.set(thread, answer)
    }
    return [...answers.values()]
  }
  await getFromAll('/')
  while ((await get('/').catch(() => null))?.header('x-thread') === undefined);
  return { port, get, getFromAll, stop: () => pool.stop(0) }
}
