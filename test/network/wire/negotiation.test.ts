import type { AbortOptions, MessageStream } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { expect, test } from 'vitest'
import { beginNegotiation, endNegotiation } from '../../../src/network/wire/negotiation.ts'
import { lines } from '../../abuse/hostile-peer.ts'
import { libraryFile } from '../support/library.ts'

const { handle } = await libraryFile<{
  handle: (stream: MessageStream, protocols: string[], options?: AbortOptions) => Promise<string>
}>('@libp2p/multistream-select/dist/src/handle.js')

const HEADER = '/multistream/1.0.0'
const MANY = 64 * 1024

/** Connects a peer, whose bytes the test writes, with a connection that negotiates. */
function negotiating() {
  const [peer, ours] = multiaddrConnectionPair({ chunkSize: 1024 * 1024 })
  beginNegotiation(ours)
  let answers = 0
  peer.addEventListener('message', () => answers++)
  return { peer, ours, answers: () => answers }
}

test('a name that follows others is accepted, and its data arrives', async () => {
  const { peer, ours } = negotiating()
  const data = Buffer.alloc(MANY, 'data')
  peer.send(Buffer.concat([lines(HEADER, '/a', '/b', '/c'), data]))
  expect(await handle(ours, ['/c'])).toBe('/c')
  endNegotiation(ours)
  const heard: Uint8Array[] = []
  ours.addEventListener('message', event => heard.push(event.data.subarray()))
  await expect.poll(() => Buffer.concat(heard).equals(data)).toBe(true)
  ours.send(Buffer.alloc(MANY))
  for (let sent = 0; sent < 20; sent++) expect(() => ours.send(Buffer.of(0))).not.toThrow()
})

test('a peer that asks for many protocols is refused', async () => {
  const { peer, ours, answers } = negotiating()
  peer.send(Buffer.alloc(MANY, lines('/x')))
  await expect(handle(ours, ['/a'])).rejects.toThrow('too many protocols')
  await expect.poll(answers).toBeGreaterThan(0)
  expect(answers()).toBeLessThanOrEqual(16)
})

test('a length that never ends is not read to its end', async () => {
  const { peer, ours } = negotiating()
  peer.send(Buffer.alloc(4 * MANY, 0xff))
  const negotiated = handle(ours, ['/a'], { signal: AbortSignal.timeout(1_000) })
  let rounds = 0
  const counting = setInterval(() => rounds++, 1)
  await expect(negotiated).rejects.toThrow()
  clearInterval(counting)
  expect(rounds).toBeGreaterThan(5)
})

test('data without a protocol does not fill the memory', async () => {
  const { peer, ours } = negotiating()
  for (let sent = 0; sent < 16; sent++) peer.send(Buffer.alloc(MANY))
  await expect.poll(() => ours.status).toBe('aborted')
})
