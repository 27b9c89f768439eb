import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Env, ServerProcess } from './server-process.ts'

const DYING = ['--import', pathToFileURL(join(import.meta.dirname, 'dying-server.ts')).href]
const KILLS_AT_ALL = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

/**
 * Starts a server again and again. Each start is killed at a later step than the one before, until a start succeeds;
 * then its server is killed. Returns the number of killed starts.
 * @param stride one step in so many kills a start, unless the environment asks for all
 */
export async function killStarts(
  start: (env: Env, nodeArgs: readonly string[]) => Promise<ServerProcess>,
  stride: number,
): Promise<number> {
  const apart = KILLS_AT_ALL ? 1 : stride
  for (let kills = 0; ; kills++) {
    const server = await start({ DIES_AT: String(1 + kills * apart) }, DYING).catch(onlyKilled)
    if (server === null) continue
    server.signal('SIGKILL')
    await server.ended()
    return kills
  }
}

/** @throws the error of a server that ended with a message */
function onlyKilled(error: unknown): null {
  if (/^holdfast: /m.test(String(error))) throw error
  return null
}
