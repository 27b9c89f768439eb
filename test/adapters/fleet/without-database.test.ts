import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiHandler } from '../../../src/index.ts'
import { apiRequest } from '../../gateway/client.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, withFleet } from '../../support/fleet.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, query, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

const ABSENT = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'

async function get(handler: ApiHandler, path: string) {
  const { status, headers, body } = await handler(apiRequest('GET', path))
  const parts: Uint8Array[] = []
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) {
    for await (const part of body) parts.push(new Uint8Array(part))
    return { status, headers, body: Buffer.concat(parts) }
  }
  return { status, headers, body }
}

describe('a fleet without its database', needsPostgres, () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres?.stop())

  test('serves the content of each node through every node', async () => {
    await withFleet(await postgres.fresh(), async ({ a, b, account }) => {
      const content = pseudoRandom(3_000_000, 'without a database')
      const { cid } = (await a.engine.pins.upload(content, { account })).record
      const timelock = new Date(Date.now() + 3_600_000).toISOString()
      const brief = (await a.engine.pins.upload(Buffer.from('an hour'), { account, timelock })).record.cid
      expect((await get(b.engine.ownGateway, `/ipfs/${cid}`)).status).toBe(200)
      await postgres.crash()
      try {
        const read = await get(b.engine.ownGateway, `/ipfs/${cid}`)
        expect([read.status, content.equals(read.body as Buffer)]).toEqual([200, true])
        const until = await get(b.engine.ownGateway, `/ipfs/${brief}`)
        const age = Number(/max-age=(\d+)/.exec(until.headers['cache-control'] ?? '')?.[1])
        expect([until.status, age <= 3_600]).toEqual([200, true])
        // Only the database knows whether it is being fetched.
        expect((await get(b.engine.ownGateway, `/ipfs/${ABSENT}`)).status).toBe(503)
      } finally {
        await postgres.start()
      }
    })
  })

  test('knows its nodes when the database is back', async () => {
    const clock = new ManualClock()
    const run = async ({ a, b, account, key, database }: Fleet) => {
      const { cid } = (await a.engine.pins.upload(Buffer.from('on a'), { account })).record
      await postgres.crash()
      clock.advance(60_000)
      await postgres.start()
      await query(database, "UPDATE nodes SET seen_at = seen_at - INTERVAL '1 minute'")
      expect((await get(b.engine.ownGateway, `/ipfs/${cid}`)).status).toBe(200)
      const form = new FormData()
      form.set('file', new Blob(['for a']))
      const headers = { 'x-api-key': key, 'x-cluster': 'first' }
      expect((await fetch(`${b.url}/api/v3/files`, { method: 'POST', headers, body: form })).status).toBe(201)
    }
    await withFleet(await postgres.fresh(), run, { clock })
  })

  test('keeps its takedowns, and takes new ones once the database is back', { timeout: 240_000 }, async () => {
    await withFleet(await postgres.fresh(), async ({ a, b, account }) => {
      const [bad, worse] = await Promise.all(
        ['bad', 'worse'].map(async text => (await a.engine.pins.upload(Buffer.from(text), { account })).record.cid),
      )
      const add = async (cid = '') => (await b.engine.takedowns.add({ cid, reason: 'x' }).catch(() => null))?.pending
      const statuses = (cid: string | undefined) =>
        Promise.all([a, b].map(async node => (await get(node.engine.ownGateway, `/ipfs/${cid}`)).status))
      // On a busy machine, a node may confirm too late.
      await expect.poll(() => add(bad), { timeout: 60_000 }).toEqual([])
      expect(await statuses(worse)).toEqual([200, 200])
      await postgres.crash()
      try {
        await expect(b.engine.takedowns.add({ cid: `${worse}`, reason: 'x' })).rejects.toMatchObject({
          code: 'UNAVAILABLE',
        })
        expect([await statuses(bad), await statuses(worse)]).toEqual([
          [410, 410],
          [200, 200],
        ])
      } finally {
        await postgres.start()
      }
      await expect.poll(() => add(worse), { timeout: 60_000 }).toEqual([])
      expect(await statuses(worse)).toEqual([410, 410])
    })
  })

  test('leaves its gateway ready, but not its API', async () => {
    const clock = new ManualClock()
    await withFleet(
      await postgres.fresh(),
      async ({ a }) => {
        await postgres.crash()
        try {
          clock.advance(6_000)
          expect(await get(a.engine.api, '/ready')).toMatchObject({ status: 503, body: '{"status":"no-catalogue"}' })
          expect(await get(a.engine.ownGateway, '/ready')).toMatchObject({ status: 200, body: '{"status":"ok"}' })
        } finally {
          await postgres.start()
        }
      },
      { clock },
    )
  })
})
