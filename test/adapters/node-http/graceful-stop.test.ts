import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer, drain, stopGracefully } from '../../../adapters/node-http/index.ts'
import type { ApiHandler, Engine } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { withEngine } from '../../support/test-engine.ts'
import { threadReaders } from '../../support/thread-readers.ts'

/** Large enough that the socket's buffers do not hold it. */
const SLOW_BYTES = 24 * 1024 ** 2
const engine: Pick<Engine, 'announceStop' | 'readsEnded'> = {
  announceStop: async () => undefined,
  readsEnded: async () => undefined,
}

async function begin(port: number, path: string): Promise<IncomingMessage> {
  const asked = http.get({ host: '127.0.0.1', port, path, agent: false })
  asked.on('error', () => undefined)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return answer
}

async function rest(answer: IncomingMessage): Promise<Buffer> {
  return Buffer.concat((await answer.toArray()) as Buffer[])
}

/**
 * Returns whether something holds within some turns of the event loop. A port without new connections closes within 200
 * turns. The manual clock stands still meanwhile.
 */
async function holdsSoon(holds: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < 1_000 && !holds(); turn++) await new Promise(resolve => setImmediate(resolve))
  return holds()
}

/** A server whose `/slow` ends when the test says so. */
async function slowServer() {
  const slow = Promise.withResolvers<void>()
  const api: ApiHandler = async ({ path }) => {
    const body = async function* () {
      yield Buffer.from('begun ')
      await slow.promise
      yield Buffer.from('and whole')
    }
    return { status: 200, headers: {}, body: path === '/slow' ? { [Symbol.asyncIterator]: body } : 'quick' }
  }
  const server = createServer({ api, gateway: api, trustedProxies: 0, stats: async () => ({}) as never })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port, end: slow.resolve }
}

describe('a graceful stop', () => {
  test('ends at once if nothing is open', async () => {
    const { server } = await slowServer()
    const clock = new ManualClock()
    let isOver = false
    void stopGracefully(engine, { server, drainMs: 120_000, clock }).then(() => {
      isOver = true
    })
    expect(await holdsSoon(() => isOver)).toBe(true)
    expect(server.listening).toBe(false)
    expect(clock.waiting).toBe(0)
  })

  test('takes requests until the open answers have ended', async () => {
    const { server, port, end } = await slowServer()
    const slow = await begin(port, '/slow')
    const stopped = stopGracefully(engine, { server, drainMs: 120_000, clock: new ManualClock() })
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(String(await rest(await begin(port, '/quick')))).toBe('quick')
    end()
    expect(String(await rest(slow))).toBe('begun and whole')
    await stopped
    expect(server.listening).toBe(false)
  })

  test('closes the port when its time is over', async () => {
    const { server, port, end } = await slowServer()
    const slow = await begin(port, '/slow')
    const clock = new ManualClock()
    const stopped = stopGracefully(engine, { server, drainMs: 120_000, clock })
    await expect.poll(() => clock.waiting).toBe(1)
    clock.advance(119_999)
    expect(server.listening).toBe(true)
    clock.advance(1)
    expect(await holdsSoon(() => !server.listening)).toBe(true)
    end()
    await rest(slow)
    await stopped
  })

  test('waits for other nodes that read, which begin no more', async () => {
    const { server } = await slowServer()
    const asked: boolean[] = []
    const reads = Promise.withResolvers<void>()
    const stopped = stopGracefully(
      {
        ...engine,
        readsEnded: async ({ isLast = false } = {}) => {
          asked.push(isLast)
          expect(server.listening).toBe(true)
          await reads.promise
        },
      },
      { server, drainMs: 120_000, clock: new ManualClock() },
    )
    await expect.poll(() => asked).toEqual([false])
    reads.resolve()
    await stopped
    expect(asked).toEqual([false, true])
  })

  test('lets a client take the end of an answer slowly', async () => {
    const content = pseudoRandom(SLOW_BYTES, 'buffered')
    const api: ApiHandler = async () => ({ status: 200, headers: {}, body: content })
    const server = createServer({ api, gateway: api, trustedProxies: 0, stats: async () => ({}) as never })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const answer = await begin((server.address() as AddressInfo).port, '/')
    const stopped = drain(server, 60_000)
    await expect.poll(() => server.listening).toBe(false)
    // A check of idle connections has passed.
    await new Promise(resolve => setTimeout(resolve, 200))
    expect((await rest(answer)).equals(content)).toBe(true)
    await stopped
  })

  test('lets slow downloads from threads end', async () => {
    await withEngine(async ({ engine: real, account, clock }) => {
      const content = pseudoRandom(SLOW_BYTES, 'slow')
      const { cid } = (await real.pins.upload(content, { account })).record
      const readers = await threadReaders(real, { threads: 1 })
      const { server } = await slowServer()
      try {
        const answer = await begin(readers.port, `/ipfs/${cid}`)
        const [first] = (await once(answer, 'data')) as [Buffer]
        answer.pause()
        const stopped = stopGracefully(real, { server, readers, drainMs: 120_000, clock })
        await expect.poll(async () => (await begin(readers.port, '/ready')).statusCode).toBe(503)
        expect(Buffer.concat([first, await rest(answer)]).equals(content)).toBe(true)
        await stopped
      } finally {
        await readers.stop()
      }
    })
  })
})
