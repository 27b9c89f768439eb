import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import type { EngineConfig } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, openFleet, TWO_CLUSTERS } from '../../support/fleet.ts'
import { sharedPostgres } from '../../support/postgres-server.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000, interval: 100 }

/** A real system that keeps a cluster of one of two nodes. */
interface Far extends Pick<Parameters<typeof openFleet>[0], 'adapters' | 'environment'> {
  /** Its API. */
  url: string
  /** Returns the configuration of a backend whose API is at the origin `url`. */
  backend: (url: string) => NonNullable<NonNullable<EngineConfig['clusters']>[number]['backend']>
  /** Returns whether a request sends content. */
  isSend: (request: http.IncomingMessage) => boolean
  /** Removes the pins of the system, behind the back of the nodes. */
  lose: () => Promise<void>
  /** The last error while the system refuses content. */
  refused: RegExp
}

/** Checks that both nodes report a lost pin from the first check on, then its refused repair, then its success. */
export async function bothReportALostPin({ url, backend, isSend, lose, refused, ...rest }: Far): Promise<void> {
  const postgres = await sharedPostgres()
  let isFull = false
  const proxy = http.createServer((request, response) => {
    if (isFull && isSend(request)) return void response.writeHead(500).end()
    const { method, url: path } = request
    const asked = http.request(`${url}${path}`, { method, headers: request.headers }, answer => {
      // The proxy sends no trailers.
      const { trailer: _, ...headers } = answer.headers
      response.writeHead(answer.statusCode ?? 0, headers)
      answer.pipe(response)
    })
    request.pipe(asked)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port } = proxy.address() as AddressInfo
  const far = backend(`http://127.0.0.1:${port}`)
  try {
    const { a, b, close } = await openFleet({
      ...TWO_CLUSTERS,
      ...rest,
      database: await postgres.migrated(),
      clock: systemClock,
      clusters: TWO_CLUSTERS.clusters.map(one => (one.id === 'first' ? { ...one, backend: far } : one)),
    })
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      const { record } = await a.engine.pins.upload(pseudoRandom(900, 'far'), { account, cluster: 'first' })
      const told = async ({ engine }: FleetNode) => {
        const [found] = await engine.pins.status({ account, cid: record.cid })
        return { status: found?.record.status, lastError: found?.lastError ?? null }
      }
      const whole = { status: 'pinned', lastError: null }
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(whole)
      await lose()
      isFull = true
      expect(Object.keys((await a.engine.reconcile()).found)).toContain('pin-missing')
      for (const node of [a, b]) expect(await told(node)).toMatchObject({ status: 'pinning' })
      const unsent = { status: 'pinning', lastError: expect.stringMatching(refused) }
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toMatchObject(unsent)
      isFull = false
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(whole)
    } finally {
      await close()
    }
  } finally {
    proxy.closeAllConnections()
    proxy.close()
    await postgres.stop()
  }
}
