import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { Lingering } from '../../../adapters/node-http/lingering.ts'
import type { ApiHandler } from '../../../src/index.ts'
import { needsLinux } from '../../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const close of closers.splice(0).reverse()) await close()
  await ServerProcess.killAll()
})

const HEAD = 'POST /nothing HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'
const PIECE = `10000\r\n${'x'.repeat(65_536)}\r\n`

function dial(port: number, allowHalfOpen = false): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen })
  closers.push(() => socket.destroy())
  return socket
}

/** Sends pieces and reads only later. Resolves with everything that it read, and the connection's failure. */
async function send(socket: Socket, pieces: Iterable<string>): Promise<string> {
  let received = ''
  socket.on('error', (error: NodeJS.ErrnoException) => {
    received += `\n${error.code}`
  })
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.pause()
  setTimeout(() => socket.resume(), 100)
  const next = pieces[Symbol.iterator]()
  const sending = setInterval(() => {
    const { done, value } = next.next()
    if (done !== true && socket.writable) socket.write(value)
  }, 5)
  await new Promise(resolve => socket.once('close', resolve))
  clearInterval(sending)
  return received
}

function* upload(...heads: string[]): Generator<string> {
  yield* heads
  for (let piece = 0; piece < 100; piece++) yield PIECE
}

/** Opens a connection whose request stays unanswered: the server waits for its body. */
async function busy(port: number): Promise<void> {
  const socket = dial(port).on('error', () => {})
  socket.write(HEAD.replace('/nothing', '/api/v3/auth/login').replace('h\r\n', 'h\r\nExpect: 100-continue\r\n'))
  await once(socket, 'data')
}

describe('a client that still sends reads its answer', () => {
  const fine: ApiHandler = async () => ({ status: 200, headers: {}, body: 'fine' })

  async function listen(): Promise<number> {
    const server = createServer({ api: fine, gateway: fine }).listen(0, '127.0.0.1')
    closers.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  test.each([
    ['that is not HTTP', 400, ['this is no request\r\n']],
    ['without a host', 400, [HEAD.replace('Host: h\r\n', '')]],
    ['with too long a header', 431, ['POST / HTTP/1.1\r\nHost: h\r\n', `A: ${'a'.repeat(40_000)}\r\n\r\n`]],
  ])('after a request %s: %d', async (_, status, heads) => {
    const answer = await send(dial(await listen()), upload(...heads))
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\\}$`, 's'))
  })
})

describe('a client that keeps sending after its answer', () => {
  /** A connection whose client never closes it. */
  const open = (): Duplex => new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })

  test('is cut off after three seconds', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = open()
    new Lingering(1).close(socket, 'an answer')
    vi.advanceTimersByTime(2_999)
    expect(socket.destroyed).toBe(false)
    vi.advanceTimersByTime(1)
    expect(socket.destroyed).toBe(true)
  })

  test('is cut off after 16 MiB', async () => {
    const socket = open()
    new Lingering(1).close(socket, 'an answer')
    for (let piece = 0; piece < 16; piece++) {
      socket.push(Buffer.alloc(1024 * 1024))
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(socket.destroyed).toBe(false)
    socket.push('x')
    await new Promise(resolve => setImmediate(resolve))
    expect(socket.destroyed).toBe(true)
  })

  test('makes room for the next such client', () => {
    const [first, next] = [open(), open()]
    const lingering = new Lingering(1)
    for (const socket of [first, next]) lingering.close(socket, 'an answer')
    expect([first.destroyed, next.destroyed]).toEqual([true, false])
    lingering.destroyOldest()
  })
})

test('chunked uploads on connections over the limit are all refused', needsLinux, async () => {
  const dir = temporaryDirectory()
  closers.push(dir.remove)
  const server = await ServerProcess.start(dir.path, [], {}, 60_000, [], 128)
  const port = Number(new URL(server.url).port)
  const open = (): number => readdirSync(`/proc/${server.pid}/fd`).length
  for (let at = 0; at < 32; at++) await busy(port)
  const before = open()
  const [begin, rest] = [HEAD.slice(0, 20), HEAD.slice(20)]
  for (let round = 0; round < 10; round++) {
    const told = await Promise.all(Array.from({ length: 4 }, () => send(dial(port), upload(HEAD))))
    // The next four connect before they send a request.
    const unasked = Array.from({ length: 4 }, () => send(dial(port), upload(begin, rest)))
    const silent = Array.from({ length: 4 }, () => dial(port).on('error', () => {}))
    told.push(...(await Promise.all(unasked)))
    for (const answer of told) expect(answer).toMatch(/^HTTP\/1.1 503 .*retry-after: 5\r\n.*\}$/is)
    await expect.poll(open).toBeLessThan(before + 10)
    for (const socket of silent) socket.destroy()
  }
})
