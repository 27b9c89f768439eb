import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import type { ApiHandler } from '../../../src/index.ts'
import { needsLinux } from '../../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
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

/** Opens a connection whose request stays unanswered. */
async function busy(port: number): Promise<void> {
  const socket = dial(port).on('error', () => {})
  socket.write(HEAD)
  await once(socket, 'data')
}

describe('a client that still sends reads its answer', () => {
  const fine: ApiHandler = async () => ({ status: 200, headers: {}, body: 'fine' })

  async function listen(maxConnections = 100): Promise<number> {
    const server = createServer({ api: fine, gateway: fine }, { maxConnections }).listen(0, '127.0.0.1')
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

  /** A client that ignores its answer and the end of the connection, and sends so many pieces every 50 ms. */
  async function ignorant(port: number, pieces: number): Promise<{ closed: Promise<number> }> {
    const socket = dial(port, true).on('error', () => {})
    socket.write('this is no request\r\n')
    const sending = setInterval(() => socket.write(PIECE.repeat(pieces)), 50)
    closers.push(() => clearInterval(sending))
    await once(socket.resume(), 'end')
    const ended = performance.now()
    return { closed: new Promise(resolve => socket.once('close', () => resolve(performance.now() - ended))) }
  }

  test.each([
    ['in time', 1, 2_500, 10_000],
    ['in bytes', 64, 0, 2_500],
  ])('and is cut off if it does not end: %s', async (_, pieces, least, most) => {
    const { closed } = await ignorant(await listen(), pieces)
    const ms = await closed
    expect([ms > least, ms < most]).toEqual([true, true])
  })

  test('and makes room for the next such client', async () => {
    const port = await listen(8)
    const first = await ignorant(port, 1)
    await ignorant(port, 1)
    expect(await first.closed).toBeLessThan(2_900)
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
    // Less than the time after which a lingering connection is destroyed.
    await expect.poll(open, { timeout: 2_500 }).toBeLessThan(before + 10)
    for (const socket of silent) socket.destroy()
  }
})
