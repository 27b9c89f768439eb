import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine, SCOPES } from '../../../src/index.ts'
import { settled } from '../../../src/testing/index.ts'
import { callApi } from '../../support/api-call.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { Receiver } from './receiver.ts'

interface World {
  engine: Engine
  clock: ManualClock
  dataDir: string
  restart(): Promise<void>
  /** Creates an account. */
  actor(name: string): Promise<Actor>
}

interface Actor {
  account: string
  /** Creates a webhook. */
  hook(url: string): Promise<{ id: string; secret: string }>
  log(id: string): Promise<Array<Record<string, unknown>>>
  upload(content: string): Promise<string>
}

function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async dataDir => {
    const clock = new ManualClock()
    const open = (): Promise<Engine> =>
      createEngine({ dataDir: newDirectory(dataDir), clock, webhooks: { allowPrivate: true } })
    const world: World = {
      engine: await open(),
      clock,
      dataDir,
      restart: async () => {
        await world.engine.stop()
        world.engine = await open()
      },
      actor: async name => {
        const { id: account } = await world.engine.accounts.create({ email: `${name}@example.org`, plan: 'unlimited' })
        const { secret } = await world.engine.keys.create(account, { name: 'key', scopes: SCOPES })
        const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
        return {
          account,
          hook: async url => {
            const body = JSON.stringify({ url })
            const { status, json } = await callApi(world.engine, 'POST', '/webhooks', { ...headers, body })
            expect(status).toBe(201)
            return json as { id: string; secret: string }
          },
          log: async id => {
            const { json } = await callApi(world.engine, 'GET', `/webhooks/${id}/deliveries`, headers)
            return (json as { deliveries: Array<Record<string, unknown>> }).deliveries
          },
          upload: async content => (await world.engine.pins.upload(Buffer.from(content), { account })).record.cid,
        }
      },
    }
    try {
      await run(world)
    } finally {
      await world.engine.stop()
    }
  })
}

const eventsOf = (receiver: Receiver) => receiver.events.map(({ event }) => event)

describe('a webhook', () => {
  test('receives each event once, signed with a secret that is stored encrypted', async () => {
    await withWorld(async world => {
      await using receiver = await new Receiver().start()
      const one = await world.actor('one')
      const two = await world.actor('two')
      const { id, secret } = await one.hook(receiver.url)
      const cid = await one.upload('sent')
      await two.upload('not sent')
      await settled(world.engine)
      expect(eventsOf(receiver)).toEqual(['pin:created'])
      await world.engine.pins.remove({ account: one.account, cid })
      await settled(world.engine)
      expect(eventsOf(receiver)).toEqual(['pin:created', 'pin:removed'])
      const [created] = receiver.events
      expect(created).toMatchObject({ from: null, at: '2030-01-01T00:00:00.000Z' })
      expect(created?.record).toMatchObject({ cid, clusterId: 'cl0-global', status: 'pinned', expiresAt: null })
      for (const { headers, body } of receiver.received) {
        const [, seconds = '', mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['holdfast-signature'])) ?? []
        expect(mac).toBe(createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
        expect(Number(seconds)).toBe(Math.floor(world.clock.now() / 1_000))
        expect(headers['content-type']).toBe('application/json')
      }
      expect((await one.log(id)).map(row => row.state)).toEqual(['delivered', 'delivered'])
      await world.engine.stop()
      for (const file of ['holdfast.db', 'holdfast.db-wal']) {
        const bytes = await readFile(join(world.dataDir, file)).catch(() => Buffer.of())
        expect(bytes.includes(secret)).toBe(false)
      }
    })
  })

  test('receives the same body again until it answers 2xx', async () => {
    await withWorld(async world => {
      await using receiver = await new Receiver().start()
      const one = await world.actor('one')
      const { id } = await one.hook(receiver.url)
      receiver.answer = response => response.writeHead(500).end()
      await one.upload('sent')
      await settled(world.engine)
      expect((await one.log(id))[0]?.lastError).toBe('the receiver answered 500')
      expect((await one.log(id))[0]).toMatchObject({ state: 'waiting', attempts: 1, lastStatus: 500 })
      await world.restart()
      expect(receiver.received.length).toBe(1)
      receiver.answer = response => response.writeHead(200).end('{}')
      world.clock.advance(10_000)
      await settled(world.engine)
      expect((await one.log(id))[0]?.state).toBe('delivered')
      expect(receiver.received.length).toBe(2)
      expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body)
      const ids = receiver.received.map(({ headers }) => headers['holdfast-delivery'])
      expect(ids).toEqual([expect.stringMatching(/^\d+$/), ids[0]])
    })
  })

  test('gets no more attempts after about a day', async () => {
    await withWorld(async world => {
      await using receiver = await new Receiver().start()
      const one = await world.actor('one')
      const { id } = await one.hook(receiver.url)
      receiver.answer = response => response.writeHead(404).end()
      const since = world.clock.now()
      await one.upload('sent')
      for (let attempts = 1; attempts <= 16; attempts++) {
        await settled(world.engine)
        const [last] = await one.log(id)
        expect(last).toMatchObject({ attempts, lastAttemptAt: iso(world.clock.now()) })
        const next = last?.nextAttemptAt
        if (typeof next === 'string') world.clock.advance(Date.parse(next) - world.clock.now())
      }
      expect((await one.log(id))[0]).toMatchObject({ state: 'failed', lastError: 'the receiver answered 404' })
      expect(world.clock.now() - since).toBeGreaterThan(24 * 3_600_000)
      expect(world.clock.now() - since).toBeLessThan(36 * 3_600_000)
    })
  })

  test('that redirects fails, and the redirect is not followed', async () => {
    await withWorld(async world => {
      await using target = await new Receiver().start()
      await using receiver = await new Receiver().start()
      const one = await world.actor('one')
      const { id } = await one.hook(receiver.url)
      receiver.answer = response => response.writeHead(307, { location: target.url }).end()
      await one.upload('sent')
      const problem = 'the receiver answered 307: redirects are not followed'
      await settled(world.engine)
      expect((await one.log(id))[0]?.lastError).toBe(problem)
      expect(target.received).toEqual([])
    })
  })

  test('that hangs delays no other account, and is retried', async () => {
    await withWorld(async world => {
      await using hanging = await new Receiver().start()
      await using receiver = await new Receiver().start()
      hanging.answer = () => undefined
      const one = await world.actor('one')
      const two = await world.actor('two')
      const { id } = await one.hook(hanging.url)
      await two.hook(receiver.url)
      for (let i = 0; i < 70; i++) await one.upload(`queued ${i}`)
      await two.upload('sent')
      await expect.poll(() => eventsOf(receiver)).toEqual(['pin:created'])
      expect(hanging.received.length).toBeLessThanOrEqual(2)
      world.clock.advance(10_000)
      const late = 'the receiver did not answer in time'
      await expect.poll(async () => (await one.log(id)).filter(({ lastError }) => lastError === late).length).toBe(2)
    })
  })

  test('that hangs delays no other of its account for long', async () => {
    await withWorld(async world => {
      await using hanging = await new Receiver().start()
      await using receiver = await new Receiver().start()
      hanging.answer = () => undefined
      const one = await world.actor('one')
      const { id } = await one.hook(hanging.url)
      await one.hook(receiver.url)
      for (let i = 0; i < 20; i++) await one.upload(`sent ${i}`)
      await expect.poll(() => hanging.received.length).toBe(2)
      world.clock.advance(10_000)
      await expect.poll(() => receiver.received.length).toBe(20)
      const rows = await one.log(id)
      expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 20 }, () => 'waiting'))
      expect(hanging.received.length).toBe(2)
      hanging.answer = response => response.writeHead(204).end()
      world.clock.advance(10_000)
      await expect.poll(async () => (await one.log(id)).filter(({ state }) => state === 'delivered').length).toBe(20)
    })
  })

  test('is removed with its deliveries when its account is deleted', async () => {
    await withWorld(async world => {
      await using receiver = await new Receiver().start()
      receiver.answer = response => response.writeHead(500).end()
      const one = await world.actor('one')
      const { id } = await one.hook(receiver.url)
      await one.upload('sent')
      await settled(world.engine)
      expect((await one.log(id))[0]?.lastError).toBe('the receiver answered 500')
      const left = (table: string): number =>
        withDatabase(world.dataDir, db => {
          return db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count ?? -1
        })
      expect([left('webhooks'), left('deliveries')]).toEqual([1, 1])
      // As if a session had made it: no removal of a key ends it.
      withDatabase(world.dataDir, db => db.prepare('UPDATE webhooks SET key_id = NULL').run())
      await world.engine.accounts.delete(one.account)
      await settled(world.engine)
      expect([left('webhooks'), left('deliveries')]).toEqual([0, 0])
      world.clock.advance(3_600_000)
      await world.restart()
      expect(receiver.received.length).toBe(1)
    })
  })
})

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
