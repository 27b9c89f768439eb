import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openNodeProcesses } from '../support/fleet-processes.ts'
import { hasProxy, PROXIES, startFleetProxy } from '../support/fleet-proxy.ts'
import { needs } from '../support/needs.ts'
import { hasPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'

/** On a busy machine a check of a proxy may fail, so a request may need another attempt. */
const PATIENCE = { timeout: 30_000 }
const REQUESTS = 6

const hasAny = hasPostgres && PROXIES.some(hasProxy)

describe('two nodes behind a proxy of the examples', {
  timeout: 120_000,
  ...needs(hasAny, 'there is no PostgreSQL, or no proxy'),
}, () => {
  let postgres: TestPostgres
  let fleet: Awaited<ReturnType<typeof openNodeProcesses>>
  beforeAll(async () => {
    postgres = await startPostgres()
    fleet = await openNodeProcesses(await postgres.fresh(), { trustedProxies: 1 })
  }, 60_000)
  afterAll(async () => {
    await fleet?.close()
    await postgres?.stop()
  })

  for (const name of PROXIES) {
    test(`answers through the restart of one node: ${name}`, needs(hasProxy(name), `there is no ${name}`), async () => {
      const { a, b } = fleet
      const proxy = await startFleetProxy(name, [a, b])
      const list = async (): Promise<number> => (await a.callAt(proxy.url, 'GET', '/api/v3/users/me/uploads')).status
      const upload = async (cluster: string): Promise<number> => {
        const form = new FormData()
        form.set('file', new Blob([`${name} ${cluster}`]), 'f')
        return (await a.callAt(proxy.url, 'POST', '/api/v3/files', form, { 'x-cluster': cluster })).status
      }
      const metrics = async (): Promise<number> => (await fetch(`${proxy.url}/metrics`)).status
      try {
        await expect.poll(() => upload('first'), PATIENCE).toBe(201)
        expect(await metrics()).toBe(404)
        await b.kill()
        for (let i = 0; i < REQUESTS; i++) await expect.poll(list, PATIENCE).toBe(200)
        await expect.poll(() => upload('first'), PATIENCE).toBe(200)
        expect(await upload('second')).toBe(503)
        await b.start()
        await expect.poll(() => upload('second'), PATIENCE).toBe(201)
        for (let i = 0; i < REQUESTS; i++) await expect.poll(list, PATIENCE).toBe(200)
      } finally {
        await proxy.stop()
      }
    })
  }
})
