import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { withEngine } from '../../support/test-engine.ts'

const FILE_BYTES = 6 * 1024 * 1024
const FILES = 6

/** Requests a path, and resolves when the answer begins. The socket is then paused. */
async function begin(port: number, path: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

/** Returns the part of the body that has arrived when the answer ends, or when it has `most` bytes. */
async function bodyOf(socket: Socket, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of socket as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= most) break
  }
  const answer = Buffer.concat(chunks)
  return answer.subarray(answer.indexOf('\r\n\r\n') + 4)
}

test('no answer contains bytes of another, beside stalled and aborted ones', () =>
  withEngine(async ({ engine, account }) => {
    const files = await Promise.all(
      Array.from({ length: FILES }, async (_, index) => {
        const bytes = pseudoRandom(FILE_BYTES, index + 1)
        const { record } = await engine.pins.upload(bytes, { account })
        return { bytes: Buffer.from(bytes), path: `/ipfs/${record.cid}` }
      }),
    )
    const server = createServer(engine).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const stalled = await Promise.all(files.map(({ path }) => begin(port, path)))
    try {
      const read = async ({ path, bytes }: (typeof files)[number], most?: number): Promise<boolean> => {
        const body = await bodyOf(await begin(port, path), most)
        return body.equals(bytes.subarray(0, most === undefined ? FILE_BYTES : body.length))
      }
      const meanwhile = files.flatMap((file, index) =>
        [undefined, 100_000 * (index + 1), undefined, 2_000_000].map(most => read(file, most)),
      )
      expect(await Promise.all(meanwhile)).toEqual(meanwhile.map(() => true))
      const late = await Promise.all(stalled.map(socket => bodyOf(socket)))
      expect(late.map((body, index) => files[index]?.bytes.equals(body))).toEqual(files.map(() => true))
    } finally {
      for (const socket of stalled) socket.destroy()
      server.closeAllConnections()
      server.close()
    }
  }))
