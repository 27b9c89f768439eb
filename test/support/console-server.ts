import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { Page } from 'playwright-core'
import { createConsole } from '../../adapters/console/index.ts'
import { createGatewayServer, createHandler, PrometheusMetrics } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, type EngineOptions, SCOPES } from '../../src/index.ts'
import { newDirectory } from './new-database.ts'
import { withTempDir } from './temp-dir.ts'

export interface ConsoleServer {
  engine: Engine
  /** `http://127.0.0.1:<port>` */
  origin: string
  key: string
  owner: string
  /** Sends all further requests to this listener, as to a newer version; without an argument, to the node again. */
  answerWith(listener?: RequestListener): void
  /** Handles a request as the node does. */
  node: RequestListener
}

/**
 * Uses the system clock. Stops and deletes the node afterwards.
 * @param given options, or a function that makes them of the origin
 * @param hasGatewayPort true for a gateway on a port of its own, as in the standalone server
 */
export function withConsole<T>(
  run: (server: ConsoleServer) => Promise<T>,
  given: Partial<EngineOptions> | ((origin: string) => Partial<EngineOptions>) = {},
  hasGatewayPort = false,
): Promise<T> {
  return withTempDir(async dataDir => {
    const metrics = new PrometheusMetrics()
    let answer: RequestListener = (_, outgoing) => outgoing.writeHead(503).end()
    const server = http.createServer((incoming, outgoing) => answer(incoming, outgoing))
    const origin = `http://127.0.0.1:${await portOf(server)}`
    const config = typeof given === 'function' ? given(origin) : given
    const engine = await createEngine({
      console: true,
      passwordCost: 1_024,
      ...config,
      dataDir: newDirectory(dataDir),
      metrics,
    })
    const { publicUrl } = config
    const node = createHandler(engine, {
      console: createConsole(engine, publicUrl === undefined ? {} : { publicUrl }),
      metrics,
    })
    answer = node
    const gateway = createGatewayServer(engine.ownGateway)
    if (hasGatewayPort) await engine.setGatewayPort(await portOf(gateway))
    try {
      if (publicUrl === undefined) await engine.setPublicUrl(origin)
      const { account } = await engine.accounts.ensureOwner()
      const { secret: key } = await engine.keys.create(account.id, { name: 'owner', scopes: SCOPES })
      return await run({
        engine,
        origin,
        key,
        owner: account.id,
        node,
        answerWith: (listener = node) => {
          answer = listener
        },
      })
    } finally {
      for (const each of [server, gateway]) {
        each.closeAllConnections()
        each.close()
      }
      await engine.stop()
    }
  })
}

async function portOf(server: http.Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as { port: number }).port
}

export async function signInByKey(page: Page, { origin, key }: Pick<ConsoleServer, 'origin' | 'key'>): Promise<void> {
  await page.goto(`${origin}/console/`)
  await fillInKey(page, key)
}

/** Fills in the API key on a page that already shows the sign-in form. */
export async function fillInKey(page: Page, key: string): Promise<void> {
  await page.getByRole('tab', { name: 'API key' }).click()
  await page.getByLabel('API key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Signs the owner of a console's node in. The account must have the password. */
export async function signInByPassword(page: Page, server: ConsoleServer, password: string): Promise<void> {
  const { email } = await server.engine.accounts.get(server.owner)
  await page.goto(`${server.origin}/console/`)
  await page.getByRole('tab', { name: 'Password' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}
