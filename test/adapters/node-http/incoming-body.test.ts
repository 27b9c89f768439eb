import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { arrivedBodyOf, bodyOf, bodyPieces } from '../../../adapters/node-http/incoming-body.ts'

const CHUNK_BYTES = 64 * 1024

function chunk(fill: number): Buffer {
  return Buffer.alloc(CHUNK_BYTES, fill)
}

/** Pushes its chunks, as Node's own requests do. */
function request(...chunks: Buffer[]): Readable {
  const incoming = new Readable({ read: () => undefined, highWaterMark: CHUNK_BYTES })
  for (const one of chunks) incoming.push(one)
  return incoming
}

async function next(pieces: AsyncGenerator<Uint8Array, void>): Promise<Uint8Array> {
  const { value } = await pieces.next()
  if (value === undefined) throw new Error('there was no piece')
  return value
}

describe('the body of a request', () => {
  test('arrives completely and in order', async () => {
    const incoming = request(chunk(1), chunk(2), Buffer.from('end'))
    incoming.push(null)
    const read: Buffer[] = []
    for await (const piece of bodyPieces(incoming)) read.push(Buffer.from(piece))
    expect(Buffer.concat(read).equals(Buffer.concat([chunk(1), chunk(2), Buffer.from('end')]))).toBe(true)
  })

  test('arrives in pieces, and only one piece is read ahead', async () => {
    const incoming = request(...Array.from({ length: 9 }, (_, index) => chunk(index)))
    const pieces = bodyPieces(incoming)
    const first = await next(pieces)
    expect(first.length).toBe(4 * CHUNK_BYTES)
    expect(first[3 * CHUNK_BYTES]).toBe(3)
    await new Promise(resolve => setImmediate(resolve))
    expect(incoming.readableLength).toBe(CHUNK_BYTES)
    expect((await next(pieces)).length).toBe(4 * CHUNK_BYTES)
    expect((await next(pieces)).length).toBe(CHUNK_BYTES)
  })

  test('frees the memory of a piece at the next read', async () => {
    const arrived = [chunk(1), chunk(2), chunk(3)]
    const incoming = request(...arrived)
    const pieces = bodyPieces(incoming)
    const joined = await next(pieces)
    expect(arrived.map(({ length }) => length)).toEqual([0, 0, 0])
    expect(joined.length).toBe(3 * CHUNK_BYTES)
    const alone = chunk(4)
    incoming.push(alone)
    expect(await next(pieces)).toBe(alone)
    expect(joined.buffer.byteLength).toBe(0)
    incoming.push(null)
    expect((await pieces.next()).done).toBe(true)
    expect(alone.length).toBe(0)
  })

  test('does not free memory of others', async () => {
    const shared = Buffer.concat([chunk(1), chunk(2)])
    const incoming = request(shared.subarray(0, CHUNK_BYTES))
    incoming.push(null)
    for await (const piece of bodyPieces(incoming)) expect(piece.length).toBe(CHUNK_BYTES)
    expect(shared.length).toBe(2 * CHUNK_BYTES)
  })

  test('yields its bytes before the error if it ends early', async () => {
    const incoming = request(chunk(1))
    const pieces = bodyPieces(incoming)
    expect((await next(pieces)).length).toBe(CHUNK_BYTES)
    incoming.destroy(new Error('aborted'))
    await expect(pieces.next()).rejects.toThrow('aborted')
    const closed = request()
    closed.destroy()
    await expect(bodyPieces(closed).next()).rejects.toThrow('cut short')
  })

  test('stays open for draining if the rest is unwanted', async () => {
    const incoming = request(...Array.from({ length: 9 }, () => chunk(1)))
    for await (const _ of bodyPieces(incoming)) break
    expect(incoming.destroyed).toBe(false)
    expect(incoming.listenerCount('data')).toBe(0)
    const ended = new Promise(resolve => incoming.once('end', resolve))
    incoming.push(null)
    incoming.resume()
    await ended
  })
})

/** Resolves with the result of `look` on a request that has just reached the server. */
async function askedOf<T>(bytes: Buffer, look: (incoming: IncomingMessage, client: Socket) => Promise<T>): Promise<T> {
  const { promise: client, resolve: connected } = Promise.withResolvers<Socket>()
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const server = createServer(incoming => {
    client.then(socket => look(incoming, socket)).then(resolve, reject)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    connected(socket)
    socket.write(bytes)
    return await promise
  } finally {
    socket.destroy()
    await new Promise(closed => server.close(closed))
  }
}

function headOf(length: number): Buffer {
  return Buffer.from(`POST / HTTP/1.1\r\nHost: here\r\nContent-Length: ${length}\r\n\r\n`)
}

async function streamed(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  const nothing = (): void => undefined
  for await (const piece of bodyOf(incoming, nothing, nothing)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString()
}

describe('a small body', () => {
  test('is read at once if it arrives with its headers', async () => {
    const sent = Buffer.concat([headOf(7), Buffer.from('content')])
    const [body, again] = await askedOf(sent, async incoming => [
      await arrivedBodyOf(incoming),
      await arrivedBodyOf(incoming),
    ])
    expect([body?.toString(), again]).toEqual(['content', null])
  })

  test('streams from its first byte if it arrives later or in part', async () => {
    const first = Buffer.concat([headOf(7), Buffer.from('con')])
    const bodies = await askedOf(first, async (incoming, client) => {
      const arrived = await arrivedBodyOf(incoming)
      client.write('tent')
      return [arrived, await streamed(incoming)]
    })
    expect(bodies).toEqual([null, 'content'])
  })

  test('has a length, of at most 64 KiB', async () => {
    const lengths = await Promise.all([
      askedOf(headOf(64 * 1024 + 1), arrivedBodyOf),
      askedOf(
        Buffer.from('POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
        arrivedBodyOf,
      ),
    ])
    expect(lengths).toEqual([null, null])
  })
})
