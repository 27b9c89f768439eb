import assert from 'node:assert/strict'
import { once } from 'node:events'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { createServer } from '../../adapters/node-http/index.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import { createEngine, type EngineConfig, type EngineOptions, SCOPES } from '../../src/index.ts'
import { newDirectory } from './new-database.ts'

/** An engine in this process behind an HTTP server, with an owner and a key. */
export interface ServedEngine extends AsyncDisposable {
  readonly url: string
  readonly key: string
  /** Give the command line the server's URL and the key. */
  readonly env: { readonly HOLDFAST_API: string; readonly HOLDFAST_API_KEY: string }
}

/** The time, at which no background work is ever due. Walks that are counted pass none of its files. */
export const withoutTimers: Clock = { ...systemClock, after: () => () => undefined }

/** Starts an engine and its server. The caller disposes of both. */
export async function serveEngine(
  dataDir: string,
  config: EngineConfig & Pick<EngineOptions, 'clock'> = {},
): Promise<ServedEngine> {
  const engine = await createEngine({ ...serverAdapters, ...config, dataDir: newDirectory(dataDir) })
  const server = createServer(engine)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const url = `http://127.0.0.1:${address.port}`
  if (config.publicUrl === undefined) await engine.setPublicUrl(url)
  const { account } = await engine.accounts.ensureOwner()
  const { secret } = await engine.keys.create(account.id, { name: 'test', scopes: SCOPES })
  return {
    url,
    key: secret,
    env: { HOLDFAST_API: `${url}/api/v3`, HOLDFAST_API_KEY: secret },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await engine.stop()
    },
  }
}
