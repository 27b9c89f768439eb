import { EventEmitter, once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { sendResponse } from '../../../adapters/node-http/response.ts'
import { nextTurn } from '../../../src/concurrency/turns.ts'
import type { ApiHandler, BodyStream } from '../../../src/http/api-messages.ts'

/** Returns the bytes on the wire of a server that answers with `body`. */
async function wire(body: () => BodyStream): Promise<string> {
  const answer: ApiHandler = async () => ({ status: 200, headers: {}, body: body() })
  const server: http.Server = createServer({ api: answer, gateway: answer })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
  try {
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    const chunks: Uint8Array[] = []
    for await (const chunk of socket) chunks.push(chunk)
    return Buffer.concat(chunks).toString('latin1')
  } finally {
    socket.destroy()
    server.close()
    await once(server, 'close')
  }
}

/** Returns the chunks of a chunked answer. */
function framesOf(answer: string): string[] {
  const frames: string[] = []
  let rest = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  for (;;) {
    const end = rest.indexOf('\r\n')
    const length = Number.parseInt(rest.slice(0, end), 16)
    if (!(length > 0)) return frames
    frames.push(rest.slice(end + 2, end + 2 + length))
    rest = rest.slice(end + 4 + length)
  }
}

test('small chunks are joined before they are written', async () => {
  async function* tiny(): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < 50_000; index++) yield Buffer.from(index % 10 === 0 ? '' : String(index % 10))
  }
  const frames = framesOf(await wire(tiny))
  expect(frames.join('')).toBe('123456789'.repeat(5_000))
  // One at every 64 KiB, and one in each round of the loop: far fewer than chunks.
  expect(frames.length).toBeLessThan(5_000)
})

test('small and large chunks keep their order, and each is released once', async () => {
  const chunks = Array.from({ length: 60 }, (_, index) => Buffer.alloc(index % 3 === 0 ? 40_000 : 7, 97 + (index % 26)))
  const discarded = new Set<Uint8Array>()
  const answer = await wire(() => ({
    async *[Symbol.asyncIterator]() {
      yield* chunks
    },
    discard(chunk) {
      expect(discarded.has(chunk)).toBe(false)
      discarded.add(chunk)
    },
  }))
  expect(framesOf(answer).join('')).toBe(Buffer.concat(chunks).toString('latin1'))
  expect(discarded.size).toBe(chunks.length)
})

test('each chunk of an answer is released after its client has gone', async () => {
  const made = new Set<Uint8Array>()
  const discarded = new Set<Uint8Array>()
  const answer: ApiHandler = async () => ({
    status: 200,
    headers: {},
    body: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          const chunk = Buffer.alloc(1_048_576)
          made.add(chunk)
          yield chunk
        }
      },
      discard: chunk => void discarded.add(chunk),
    },
  })
  const server: http.Server = createServer({ api: answer, gateway: answer })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  // The client reads nothing, so a write waits.
  await expect.poll(() => accepted.writableLength).toBeGreaterThan(0)
  const closed = new Promise(resolve => accepted.once('close', resolve))
  socket.resetAndDestroy()
  await closed
  await expect.poll(() => made.size - discarded.size).toBe(0)
  server.close()
  await once(server, 'close')
})

test('a chunk is sent without waiting for the next', async () => {
  let seen = (): void => {}
  const arrived = new Promise<void>(resolve => {
    seen = resolve
  })
  const answer: ApiHandler = async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from('first')
      await arrived
      yield Buffer.from('second')
    })(),
  })
  const server = createServer({ api: answer, gateway: answer })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const outgoing = http.get({ host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, agent: false })
  const [incoming] = (await once(outgoing, 'response')) as [http.IncomingMessage]
  incoming.setEncoding('utf8')
  expect((await once(incoming, 'data'))[0]).toBe('first')
  seen()
  expect((await once(incoming, 'data'))[0]).toBe('second')
  server.close()
  await once(server, 'close')
})

test('a body made in microtasks yields to the loop', async () => {
  const STEPS = 60
  let turns = 0
  let turning = true
  const turn = (): void => {
    turns++
    if (turning) setImmediate(turn)
  }
  async function* busy(): AsyncGenerator<Uint8Array> {
    setImmediate(turn)
    for (let index = 0; index < STEPS; index++) {
      // Work of a millisecond, however fast the machine is.
      for (const end = performance.now() + 1; performance.now() < end; );
      yield Buffer.from('x')
    }
    turning = false
  }
  expect(framesOf(await wire(busy)).join('')).toBe('x'.repeat(STEPS))
  expect(turns).toBeGreaterThanOrEqual(STEPS / 10)
})

test('a drained connection writes nothing while other work waits', async () => {
  const log: string[] = []
  const outgoing = Object.assign(new EventEmitter(), {
    writableNeedDrain: false,
    writeHead: () => undefined,
    write: () => Object.assign(outgoing, { writableNeedDrain: true }),
    end: () => undefined,
  })
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of ['first', 'second']) {
      log.push(chunk)
      yield Buffer.alloc(16 * 1024)
      Object.assign(outgoing, { writableNeedDrain: false })
    }
  }
  const response = { status: 200, headers: {}, body: body() }
  const incoming = { complete: true } as IncomingMessage
  const sent = sendResponse(incoming, outgoing as unknown as ServerResponse, response, () => false)
  while (outgoing.listenerCount('drain') === 0) await null
  const waiting = nextTurn().then(() => log.push('other work'))
  let isOver = false
  const ended = Promise.all([waiting, sent]).then(() => {
    isOver = true
  })
  for (; !isOver; await new Promise(setImmediate)) outgoing.emit('drain')
  await ended
  expect(log).toEqual(['first', 'other work', 'second'])
})
