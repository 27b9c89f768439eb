import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { Page } from 'playwright-core'
import { createConsole } from '../../adapters/console/index.ts'
import { createHandler, PrometheusMetrics } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, type EngineOptions, SCOPES } from '../../src/index.ts'
import { withTempDir } from './temp-dir.ts'

/** A node with its console, in this process. */
export interface ConsoleServer {
  engine: Engine
  /** `http://127.0.0.1:<port>` */
  origin: string
  /** Of the owner. */
  key: string
  /** Id of the owner's account. */
  owner: string
  /** Has something else answer at the same place, as another version would; without one the node again. */
  answerWith(listener?: RequestListener): void
}

/** Runs with one on this machine's own clock, which is stopped and removed afterwards. */
export function withConsole<T>(
  run: (server: ConsoleServer) => Promise<T>,
  config: Partial<EngineOptions> = {},
): Promise<T> {
  return withTempDir(async dataDir => {
    const metrics = new PrometheusMetrics()
    const engine = await createEngine({ console: true, passwordCost: 1_024, ...config, dataDir, metrics })
    const { publicUrl } = config
    const node = createHandler(engine, {
      console: createConsole(engine, publicUrl === undefined ? {} : { publicUrl }),
      metrics,
    })
    let answer: RequestListener = node
    const server = http.createServer((incoming, outgoing) => answer(incoming, outgoing))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    try {
      if (publicUrl === undefined) await engine.setPublicUrl(origin)
      const { account } = await engine.accounts.ensureOwner()
      const { secret: key } = await engine.keys.create(account.id, { name: 'owner', scopes: SCOPES })
      return await run({
        engine,
        origin,
        key,
        owner: account.id,
        answerWith: (listener = node) => {
          answer = listener
        },
      })
    } finally {
      server.closeAllConnections()
      server.close()
      await engine.stop()
    }
  })
}

/** Opens the console and signs in as a person would, by a key. */
export async function signInByKey(page: Page, { origin, key }: Pick<ConsoleServer, 'origin' | 'key'>): Promise<void> {
  await page.goto(`${origin}/console/`)
  await fillInKey(page, key)
}

/** Where the console is open and asks who is there. */
export async function fillInKey(page: Page, key: string): Promise<void> {
  await page.getByRole('tab', { name: 'API key' }).click()
  await page.getByLabel('API key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}
