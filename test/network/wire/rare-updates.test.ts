import { randomBytes } from 'node:crypto'
import type { MessageStream, Stream, StreamMuxer } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { expect, onTestFinished, test } from 'vitest'
import { rareYamux } from '../../../src/network/wire/rare-updates.ts'

const KIB = 1024
/** A Yamux stream's initial window. */
const FIRST_WINDOW = 256 * KIB

/** Connects plain Yamux, which sends, with ours, which receives. `sends` counts the messages of ours. */
function muxers(): { sender: StreamMuxer; receiver: StreamMuxer; sends: () => number } {
  const [outbound, inbound] = multiaddrConnectionPair()
  let sends = 0
  outbound.addEventListener('message', () => sends++)
  const config = { enableKeepAlive: false }
  const sender = yamux(config)().createStreamMuxer(outbound)
  const receiver = rareYamux(config, FIRST_WINDOW)().createStreamMuxer(inbound)
  onTestFinished(() => {
    sender.abort(new Error('the test has ended'))
    receiver.abort(new Error('the test has ended'))
  })
  return { sender, receiver, sends: () => sends }
}

/** Sends, and waits while the window is full. */
async function send(stream: MessageStream, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += 64 * KIB) {
    stream.send(bytes.subarray(at, at + 64 * KIB))
    while (stream.writeBufferLength > 0) await new Promise(resolve => setImmediate(resolve))
  }
}

function hears(receiver: StreamMuxer, onStream: (stream: Stream) => void): void {
  receiver.addEventListener('stream', ({ detail }) => {
    detail.protocol = '/test'
    onStream(detail)
  })
}

test('a long stream arrives whole, with one update per half window', async () => {
  const { sender, receiver, sends } = muxers()
  const bytes = randomBytes(4 * 1024 * KIB)
  const whole = Promise.withResolvers<Buffer>()
  hears(receiver, stream => {
    const heard: Uint8Array[] = []
    let length = 0
    stream.addEventListener('message', ({ data }) => {
      heard.push(data.subarray())
      length += data.byteLength
      if (length === bytes.length) whole.resolve(Buffer.concat(heard))
    })
  })
  await send(await sender.createStream(), bytes)
  expect((await whole.promise).equals(bytes)).toBe(true)
  // One message to open the stream and one per half window. The sender sends twice as many, of 64 KiB each.
  expect(sends()).toBeLessThanOrEqual(1 + bytes.length / (FIRST_WINDOW / 2))
})

test('many concurrent streams longer than their window all end', async () => {
  const { sender, receiver, sends } = muxers()
  const bytes = randomBytes(FIRST_WINDOW + 96 * KIB)
  const streams = 80
  const whole = Promise.withResolvers<void>()
  let left = streams
  hears(receiver, stream => {
    let length = 0
    stream.addEventListener('message', ({ data }) => {
      length += data.byteLength
      if (length === bytes.length) left--
      if (left === 0) whole.resolve()
    })
  })
  const opened = await Promise.all(Array.from({ length: streams }, () => sender.createStream()))
  await Promise.all(opened.map(stream => send(stream, bytes)))
  await whole.promise
  expect(left).toBe(0)
  expect(sends()).toBeLessThan((streams * bytes.length) / (64 * KIB))
})

test('data that looks like a window update arrives as data', async () => {
  const { sender, receiver } = muxers()
  const told = Promise.withResolvers<Buffer>()
  hears(receiver, stream => {
    // Sent by the side that holds updates back.
    stream.send(Uint8Array.of(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9))
  })
  const stream = await sender.createStream()
  stream.addEventListener('message', ({ data }) => told.resolve(Buffer.from(data.subarray())))
  expect([...(await told.promise)]).toEqual([0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9])
})
