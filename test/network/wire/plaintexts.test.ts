import { randomBytes } from 'node:crypto'
import type { Stream } from '@libp2p/interface'
import { expect, test } from 'vitest'
import { Semaphore } from '../../../src/concurrency/capacity/semaphore.ts'
import { varintBytes } from '../../../src/ipld/varint.ts'
import { FrameReader } from '../../../src/network/exchange/frame-reader.ts'
import { InboundStream } from '../../../src/network/exchange/inbound-stream.ts'
import { freePlaintext, notePlaintext } from '../../../src/network/wire/plaintexts.ts'

const SIZE = 64 * 1024
const HEADER = 12

/** A freshly decrypted message with its memory to itself. */
function decrypted(bytes: Uint8Array): Uint8Array {
  const memory = Buffer.allocUnsafeSlow(bytes.length)
  memory.set(bytes)
  return notePlaintext(memory)
}

test("a plaintext's memory is freed with its whole data", () => {
  for (const before of [0, 7, HEADER]) {
    const message = decrypted(randomBytes(SIZE))
    freePlaintext(message.subarray(before))
    expect(message.length).toBe(0)
  }
})

test("a plaintext's memory is kept while it holds other data", () => {
  const message = decrypted(randomBytes(SIZE))
  freePlaintext(message.subarray(HEADER + 1))
  freePlaintext(message.subarray(HEADER, SIZE - 1))
  freePlaintext(message.subarray(0, 1))
  expect(message.length).toBe(SIZE)
})

test('unmarked, shared and small memory is kept', () => {
  const foreign = Buffer.allocUnsafeSlow(SIZE)
  freePlaintext(foreign)
  expect(foreign.length).toBe(SIZE)
  const pool = Buffer.allocUnsafeSlow(SIZE)
  notePlaintext(pool.subarray(0, SIZE / 2))
  freePlaintext(pool)
  expect(pool.length).toBe(SIZE)
  const short = decrypted(randomBytes(100))
  freePlaintext(short)
  expect(short.length).toBe(100)
})

/** A stream that receives what the test sends. */
class HearingStream extends EventTarget {
  hear(data: Uint8Array | Iterable<Uint8Array>): void {
    this.dispatchEvent(Object.assign(new Event('message'), { data }))
  }
}

test("a stream's messages are whole, and their chunks are freed", async () => {
  const sent = [300_000, 10, 70_000].map(length => randomBytes(length))
  const heard: Uint8Array[] = []
  const whole = Promise.withResolvers<void>()
  const handling = {
    onFrame: async (frame: Uint8Array) => {
      heard.push(frame)
      if (heard.length === sent.length) whole.resolve()
      return { done: Promise.resolve() }
    },
    onBroken: () => whole.reject(new Error('broken off')),
    onFailure: whole.reject,
  }
  const stream = new HearingStream()
  const parts = { owner: 'peer', gate: new Semaphore(1), room: { waitingBytes: 0 }, handling }
  new InboundStream(stream as unknown as Stream, new FrameReader(1_000_000), parts)
  const bytes = Buffer.concat(sent.flatMap(message => [varintBytes(message.length), message]))
  const inOne: Uint8Array[] = []
  const inTwo: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += SIZE) {
    const message = decrypted(Buffer.concat([randomBytes(HEADER), bytes.subarray(at, at + SIZE)]))
    const isCut = at % (2 * SIZE) === 0
    if (isCut) stream.hear([message.subarray(HEADER, 1_000), message.subarray(1_000)])
    else stream.hear(message.subarray(HEADER))
    const list = isCut ? inTwo : inOne
    list.push(message)
  }
  await whole.promise
  while (parts.room.waitingBytes > 0) await new Promise(resolve => setImmediate(resolve))
  expect(heard.map((frame, at) => Buffer.compare(frame, sent[at] ?? new Uint8Array()))).toEqual([0, 0, 0])
  expect(inOne.map(({ length }) => length)).toEqual([0, 0, 0])
  expect(inTwo.every(({ length }) => length > HEADER)).toBe(true)
})
