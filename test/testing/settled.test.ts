import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine, SCOPES } from '../../src/index.ts'
import { createTestEngine, settled, TestClock } from '../../src/testing/index.ts'
import { Receiver } from '../features/webhooks/receiver.ts' // feature: webhooks
import { callApi } from '../support/api-call.ts'
import { TWO_CLUSTERS, withFleet } from '../support/fleet.ts'
import { newDirectory } from '../support/new-database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'

const HOUR = 3_600_000

// feature: webhooks
const WEBHOOKS = { webhooks: { allowPrivate: true } }

/** Creates an account with a webhook. */
async function watched(engine: Engine, url: string): Promise<string> {
  const { id } = await engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
  const { secret } = await engine.keys.create(id, { name: 'key', scopes: SCOPES })
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ url, events: ['pin:created', 'pin:removed'] })
  expect((await callApi(engine, 'POST', '/webhooks', { ...headers, body })).status).toBe(201)
  return id
}
// end

describe('settled', () => {
  // feature: webhooks
  test('waits for timers that are due and for what they lead to', async () => {
    await using receiver = await new Receiver().start()
    await using engine = await createTestEngine(WEBHOOKS)
    const account = await watched(engine, receiver.url)
    const told = () => receiver.events.map(({ event }) => event)
    await engine.pins.upload('a draft', { account, timelock: new Date(engine.clock.now() + HOUR) })
    await settled(engine)
    expect(told()).toEqual(['pin:created'])
    engine.clock.advance(HOUR)
    await settled(engine)
    expect(told()).toEqual(['pin:created', 'pin:removed'])
    expect((await engine.stats()).pins.pinned).toBe(0)
  })

  test('names what still runs', async () => {
    await using receiver = await new Receiver().start()
    receiver.answer = () => undefined
    await using engine = await createTestEngine(WEBHOOKS)
    const account = await watched(engine, receiver.url)
    await engine.pins.upload('never told', { account })
    await expect(settled(engine, { withinMs: 100 })).rejects.toThrow('not settled after 100 ms: webhooks')
  })

  test('does not wait for retries', async () => {
    await using receiver = await new Receiver().start()
    receiver.answer = response => response.writeHead(500).end()
    await using engine = await createTestEngine(WEBHOOKS)
    const account = await watched(engine, receiver.url)
    await engine.pins.upload('refused', { account })
    await settled(engine)
    expect(receiver.received).toHaveLength(1)
    engine.clock.advance(HOUR)
    await settled(engine)
    expect(receiver.received).toHaveLength(2)
  })
  // end

  test('takes engines of either function, and stopped ones, but nothing else', async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir) })
      await engine.pins.upload('plain')
      await settled([engine])
      await engine.stop()
      await settled(engine)
    })
    await expect(settled({ ...({} as Engine) })).rejects.toThrow('needs engines of createEngine or createTestEngine')
  })
})

describe('settled nodes', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('have done what they left to each other', async () => {
    await withFleet(await server.migrated(), async ({ a, b, account, key }) => {
      const both = [a.engine, b.engine]
      const upload = async (content: string, cluster: string) => {
        const form = new FormData()
        form.set('cl', cluster)
        form.set('file', new Blob([content]), 'file')
        const sent = await fetch(`${a.url}/api/v3/files`, { method: 'POST', headers: { 'x-api-key': key }, body: form })
        return ((await sent.json()) as { cid: string }).cid
      }
      const [removed, barred] = [await upload('removed', 'second'), await upload('barred', 'first')]
      const roots = async () => (await b.engine.stats()).roots.complete.count
      expect(await roots()).toBe(1)
      await a.engine.pins.remove(removed, { account })
      await a.engine.takedowns.add({ cid: barred, reason: 'a complaint' })
      const { secret } = await a.engine.keys.create(account, { name: 'short', scopes: SCOPES })
      const status = async () => (await callApi(b.engine, 'GET', '/users/me', { 'x-api-key': secret })).status
      expect(await status()).toBe(200)
      await a.engine.keys.revokeByName(account, 'short')
      await settled(both)
      expect([await roots(), await status()]).toEqual([0, 401])
      expect((await b.engine.takedowns.page({ after: null, limit: 9 })).rows).toHaveLength(1)
    })
  })

  test('are named with what is left to them', async () => {
    const database = await server.migrated()
    // Nobody wakes the node, because no notice is sent and no time passes.
    const run = async ({ a, b }: { a: { engine: Engine }; b: { engine: Engine } }) => {
      const client = new pg.Client({ connectionString: database })
      await client.connect()
      await client
        .query("INSERT INTO holds (id, node, state) SELECT 'left', name, 'void' FROM nodes WHERE id = 'b'")
        .finally(() => client.end())
      await settled(a.engine)
      await expect(settled([a.engine, b.engine], { withinMs: 100 })).rejects.toThrow(': work of other nodes of b')
    }
    await withFleet(database, run, { ...TWO_CLUSTERS, clock: new TestClock() })
  })
})
