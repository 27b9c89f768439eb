import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { connectionsFor, connectionsOfEach, descriptorLimit } from '../../../adapters/node-http/connections.ts'
import { createServer } from '../../../adapters/node-http/index.ts'
import { toApiRequest } from '../../../adapters/node-http/request.ts'
import { errorResponse } from '../../../src/http/error-response.ts'
import type { ApiHandler } from '../../../src/index.ts'
import { HoldfastError } from '../../../src/index.ts'
import { needsLinux } from '../../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const closers: (() => Promise<unknown> | unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await ServerProcess.killAll()
})

const fine: ApiHandler = async () => ({ status: 200, headers: {}, body: 'fine' })

async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** Opens a connection without sending anything. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<Socket & { received: string }> {
  const socket = Object.assign(connect({ port, host: '127.0.0.1', localAddress }), { received: '' })
  closers.push(() => socket.destroy())
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', (text: string) => {
    socket.received += text
  })
  await once(socket, 'connect')
  return socket
}

/** Resolves with everything received once the other side has ended. */
async function answerOf(socket: Socket & { received: string }): Promise<string> {
  if (!socket.readableEnded && !socket.destroyed) await new Promise(resolve => socket.once('close', resolve))
  return socket.received
}

const GET = 'GET /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'

/** Sends a request on a connection of its own. Returns the head of the answer, empty if the connection was dropped. */
async function ask(port: number, localAddress?: string): Promise<string> {
  const socket = await open(port, localAddress)
  socket.write(GET)
  return answerOf(socket)
}

describe('connections', () => {
  test('a new one replaces the oldest idle one of the greediest address', needsLinux, async () => {
    const port = await listen(createServer({ api: fine, gateway: fine }, { maxConnections: 4 }))
    const other = await open(port, '127.0.0.3')
    const idle = [await open(port), await open(port), await open(port)]
    expect(await ask(port, '127.0.0.2')).toContain('HTTP/1.1 200')
    await answerOf(idle[0] as Socket & { received: string })
    expect([...idle, other].map(({ destroyed }) => destroyed)).toEqual([true, false, false, false])
  })

  test('a further one is refused while all are busy', async () => {
    const { promise: through, resolve: go } = Promise.withResolvers<void>()
    let waiting = 0
    const slow: ApiHandler = async () => {
      waiting++
      await through
      return { status: 200, headers: {}, body: 'at last' }
    }
    const port = await listen(createServer({ api: slow, gateway: slow }, { maxConnections: 2 }))
    const busy = [await open(port), await open(port)]
    for (const socket of busy) socket.write(GET)
    while (waiting < 2) await new Promise(resolve => setImmediate(resolve))
    const [head = '', body = ''] = (await ask(port)).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 503 .*\r\nretry-after: 5/is)
    expect(JSON.parse(body)).toMatchObject({ code: 'UNAVAILABLE' })
    go()
    for (const socket of busy) expect(await answerOf(socket)).toContain('at last')
    expect(await ask(port)).toContain('HTTP/1.1 200')
  })

  test('leave half of the descriptors for files', () => {
    expect(descriptorLimit()).toBeGreaterThan(100)
    expect([connectionsFor(1_024), connectionsFor(20), connectionsFor(1e6)]).toEqual([512, 16, 10_000])
  })

  test('are as many as the memory of the process allows', () => {
    const MIB = 1024 ** 2
    expect([connectionsOfEach(2, 16 * MIB), connectionsOfEach(2, MIB)]).toEqual([64, 16])
    expect(connectionsOfEach(2, 1024 ** 4)).toBe(connectionsOfEach(2))
  })
})

describe('bodies that arrive too slowly', () => {
  const read = async (pace: { bytesPerSecond: number; spanMs: number }): Promise<string> => {
    const outcome = Promise.withResolvers<string>()
    const server = http.createServer(async (incoming: IncomingMessage, outgoing: ServerResponse) => {
      const { body } = toApiRequest(incoming, outgoing, '/', () => undefined, pace)
      let text = ''
      try {
        for await (const chunk of body) text += Buffer.from(chunk).toString()
        outcome.resolve(text)
      } catch (error) {
        outcome.resolve(error instanceof HoldfastError ? `${error.code}: ${error.message}` : String(error))
      }
      outgoing.end()
    })
    const port = await listen(server)
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'all of it' })
    return outcome.promise
  }

  test('are refused by their average rate while waiting', async () => {
    expect(await read({ bytesPerSecond: 1e15, spanMs: 0 })).toMatch(/^VALIDATION: the body arrives too slowly/)
    expect(await read({ bytesPerSecond: 1e15, spanMs: 600_000 })).toBe('all of it')
    expect(await read({ bytesPerSecond: 0, spanMs: 0 })).toBe('all of it')
  })
})

describe('spent file descriptors', () => {
  test.each(['EMFILE', 'ENFILE', 'SQLITE_CANTOPEN'])('%s is a 503 that says when to return', code => {
    const cause = Object.assign(new Error(`${code}: too many open files, open '/srv/data/x'`), { code })
    for (const error of [cause, new HoldfastError('BLOCK_DAMAGED', 'cannot be read', { cause })]) {
      const { status, headers, body } = errorResponse(error, 'id')
      expect([status, headers['retry-after']]).toEqual([503, '5'])
      expect(String(body)).not.toContain('/srv')
    }
  })

  test('a crowd over the limit is answered on both ports', needsLinux, async () => {
    const dir = temporaryDirectory()
    closers.push(dir.remove)
    const server = await ServerProcess.start(dir.path, [], {}, 60_000, [], 128)
    const gateway = /^gateway base +(\S+)$/m.exec(server.stdout)?.[1] ?? ''
    for (const url of [server.url, gateway]) {
      const port = Number(new URL(url).port)
      const answers = await Promise.all(Array.from({ length: 250 }, () => ask(port)))
      expect(answers.filter(answer => !/^HTTP\/1.1 (404|503 .*\r\nretry-after: 5\r\n)/is.test(answer))).toEqual([])
    }
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })

  test('a start with too few of them fails', needsLinux, async () => {
    const dir = temporaryDirectory()
    closers.push(dir.remove)
    await expect(ServerProcess.start(dir.path, [], {}, 60_000, [], 64)).rejects.toThrow(
      'the limit of open files is 64, a server needs at least 96',
    )
  })

  test('a server with few of them survives a crowd, and serves it', needsLinux, async () => {
    const dir = temporaryDirectory()
    closers.push(dir.remove)
    const server = await ServerProcess.start(dir.path, [], {}, 60_000, [], 160)
    const port = Number(new URL(server.url).port)
    const crowd = await Promise.allSettled(Array.from({ length: 250 }, () => open(port)))
    expect(crowd.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(100)
    for (let round = 0; round < 20; round++) {
      expect(await ask(port, '127.0.0.2')).toMatch(/^HTTP\/1.1 404 /)
    }
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    for (const one of crowd) if (one.status === 'fulfilled') one.value.destroy()
    expect(await server.stop()).toBe(0)
  })
})
