import { randomBytes } from 'node:crypto'
import type { MessageStream, StreamMessageEvent } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { expect, onTestFinished, test } from 'vitest'
import { WholeMessages } from '../../../src/network/wire/whole-messages.ts'

/** Noise messages: random bytes with a length prefix. */
function messages(lengths: readonly number[]): Buffer[] {
  return lengths.map(length => Buffer.concat([Uint8Array.of(length >> 8, length & 0xff), randomBytes(length)]))
}

/** A connection that delivers the pieces as sent, and a copy of everything received. */
function listening(): { messages: WholeMessages; far: MessageStream; heard: Buffer[]; chunks: number[] } {
  const [far, near] = multiaddrConnectionPair()
  const whole = new WholeMessages(near)
  const heard: Buffer[] = []
  const chunks: number[] = []
  whole.addEventListener('message', ({ data }) => {
    chunks.push(data instanceof Uint8Array ? 1 : [...data].length)
    heard.push(Buffer.from(data.subarray()))
  })
  onTestFinished(() => far.abort(new Error('the test has ended')))
  return { messages: whole, far, heard, chunks }
}

/** Sends the pieces one by one, then waits until `isSo` returns true. */
async function sent(far: MessageStream, pieces: readonly Uint8Array[], isSo: () => boolean): Promise<void> {
  for (const piece of pieces) {
    far.send(piece)
    while (far.writeBufferLength > 0) await turn()
  }
  while (!isSo()) await turn()
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Copies a piece into memory of its own, like that of sockets. */
function alone(bytes: Uint8Array): Buffer {
  const memory = Buffer.allocUnsafeSlow(bytes.length)
  memory.set(bytes)
  return memory
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places, bytes.length]
  return ends.map((end, at) => alone(bytes.subarray(at === 0 ? 0 : ends[at - 1], end)))
}

/** The end of each message in the joined bytes. */
function endsOf(parts: readonly Uint8Array[]): number[] {
  let end = 0
  return parts.map(({ length }) => {
    end += length
    return end
  })
}

for (const reuses of [false, true]) {
  const memory = reuses ? 'memory that is used again' : 'memory of their own'
  test(`messages in ${memory} arrive whole at every split of the stream`, async () => {
    const all = messages([0, 5, 40_000, 1, 65_535, 65_535, 300, 20_000, 2])
    const bytes = Buffer.concat(all)
    const [first, second] = [2, 9]
    const inside = first + 2 + 5 + 10_000
    for (const places of [
      [],
      [1],
      [first, second],
      [1, 2, 3],
      [inside, inside + 1, 150_000, 150_001, bytes.length - 1],
    ]) {
      const { messages: whole, far, heard, chunks } = listening()
      if (reuses) whole.reuse()
      await sent(far, cutAt(bytes, places), () => endsOf(heard).at(-1) === bytes.length)
      expect(Buffer.concat(heard).equals(bytes)).toBe(true)
      expect(chunks.every(pieces => pieces === 1)).toBe(true)
      for (const end of endsOf(heard)) expect(endsOf(all)).toContain(end)
    }
  })
}

test('a chunk is freed after its delivery, but only after reuse()', async () => {
  const { messages: whole, far, heard } = listening()
  const [early = Buffer.alloc(0)] = messages([30_000]).map(alone)
  await sent(far, [early], () => heard.length === 1)
  expect(early.length).toBe(30_002)
  whole.reuse()
  const [late = Buffer.alloc(0)] = messages([30_000]).map(alone)
  await sent(far, [late], () => heard.length === 2)
  expect(late.length).toBe(0)
})

test('memory with other data is not freed', async () => {
  const { messages: whole, far, heard } = listening()
  whole.reuse()
  const [message = Buffer.alloc(0)] = messages([30_000])
  const shared = Buffer.allocUnsafeSlow(40_000)
  shared.set(message)
  await sent(far, [shared.subarray(0, message.length)], () => heard.length === 1)
  expect(shared.length).toBe(40_000)
})

test('undelivered data is not freed', async () => {
  const [far, near] = multiaddrConnectionPair()
  onTestFinished(() => far.abort(new Error('the test has ended')))
  const whole = new WholeMessages(near)
  whole.reuse()
  const [message = Buffer.alloc(0)] = messages([30_000]).map(alone)
  const expected = Buffer.from(message)
  await sent(far, [message], () => whole.readBufferLength > 0)
  const heard = new Promise<Uint8Array>(resolve => {
    whole.addEventListener('message', ({ data }) => resolve(data.subarray()))
  })
  expect(Buffer.compare(await heard, expected)).toBe(0)
})

test('a short message is sent in one piece', async () => {
  const [near, far] = multiaddrConnectionPair()
  onTestFinished(() => near.abort(new Error('the test has ended')))
  const pieces: number[] = []
  far.addEventListener('message', ({ data }) => {
    pieces.push(data instanceof Uint8Array ? 1 : [...data].length)
  })
  const whole = new WholeMessages(near)
  whole.send(listOf(Uint8Array.of(0, 3), Uint8Array.of(1, 2, 3)))
  while (pieces.length === 0) await turn()
  expect(pieces).toEqual([1])
})

/** A list of pieces, as libp2p streams deliver it. */
function listOf(...pieces: Uint8Array[]): Parameters<MessageStream['send']>[0] {
  const [stream] = multiaddrConnectionPair()
  onTestFinished(() => stream.abort(new Error('the test has ended')))
  stream.pause()
  for (const piece of pieces) stream.push(piece)
  const heard: StreamMessageEvent['data'][] = []
  stream.addEventListener('message', ({ data }) => heard.push(data))
  stream.resume()
  const [list] = heard
  if (list === undefined || list instanceof Uint8Array) throw new Error('it is no list')
  return list
}

test('data for a slow reader does not fill the memory', () => {
  const [outbound, inbound] = multiaddrConnectionPair()
  inbound.pause()
  const messages = new WholeMessages(outbound)
  for (let sent = 0; sent < 600 && outbound.status === 'open'; sent++) messages.send(Buffer.alloc(64 * 1024))
  expect(outbound.status).toBe('aborted')
})
