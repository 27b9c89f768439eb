import type { MultiaddrConnection } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { expect, onTestFinished, test } from 'vitest'
import { rareYamux } from '../../../src/network/wire/rare-updates.ts'
import { dataFrame, FLAG, FRAME, frame } from '../../abuse/hostile-peer.ts'

const LONGEST = 64 * 1024
const PING = frame(FRAME.ping, FLAG.syn, 0, 1)

/** Connects a peer, whose frames the test writes, with our muxer. */
function hostile(): {
  peer: MultiaddrConnection
  ours: MultiaddrConnection
  streams: (onData: (data: string) => void) => void
} {
  // Larger than any message of the tests, so that each arrives in one event.
  const [peer, ours] = multiaddrConnectionPair({ chunkSize: 1024 * 1024 })
  const muxer = rareYamux({ enableKeepAlive: false }, LONGEST)().createStreamMuxer(ours)
  onTestFinished(() => muxer.abort(new Error('the test has ended')))
  let heard: (data: string) => void = () => undefined
  muxer.addEventListener('stream', ({ detail }) => {
    detail.protocol = '/test'
    detail.addEventListener('message', ({ data }) => heard(Buffer.from(data.subarray()).toString()))
  })
  return {
    peer,
    ours,
    streams: onData => {
      heard = onData
    },
  }
}

function nextRound(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

test('a flood of frames leaves rounds of the loop to others', async () => {
  const { peer, streams } = hostile()
  const count = 60_000
  let heard = 0
  streams(data => {
    heard += data.length
  })
  const one = dataFrame(1, Buffer.from('x'))
  // Unlike pings, data needs no answers. Many answers at once would end the connection.
  peer.send(Buffer.concat([dataFrame(1, Buffer.alloc(0), FLAG.syn), Buffer.alloc(count * one.length, one)]))
  let roundsWithData = 0
  while (heard < count) {
    const before = heard
    await nextRound()
    if (heard > before) roundsWithData++
  }
  expect(roundsWithData).toBeGreaterThan(3)
})

test('the data of a flood arrives whole and in order', async () => {
  const { peer, streams } = hostile()
  let heard = ''
  streams(data => {
    heard += data
  })
  const sent = Array.from({ length: 20_000 }, (_, index) => `${index},`)
  const frames = sent.map((data, index) => dataFrame(1, Buffer.from(data), index === 0 ? FLAG.syn : FLAG.none))
  const bytes = Buffer.concat(frames)
  // An odd length cuts headers and data.
  for (let at = 0; at < bytes.length; at += 4_097) peer.send(bytes.subarray(at, at + 4_097))
  await expect.poll(() => heard.length).toBe(sent.join('').length)
  expect(heard).toBe(sent.join(''))
})

test('a frame longer than any window ends the connection', async () => {
  const { peer, ours } = hostile()
  peer.send(frame(FRAME.data, FLAG.syn, 1, LONGEST))
  await nextRound()
  expect(ours.status).toBe('open')
  peer.send(Buffer.alloc(LONGEST))
  peer.send(frame(FRAME.data, FLAG.none, 1, LONGEST + 1))
  await expect.poll(() => ours.status).toBe('aborted')
})

test('a wrong frame after a pause ends the connection', async () => {
  const { peer, ours } = hostile()
  const wrong = frame(9, FLAG.none, 1)
  peer.send(Buffer.concat([Buffer.alloc(50_000 * PING.length, PING), wrong]))
  await expect.poll(() => ours.status).toBe('aborted')
})

test('a peer that asks for answers and reads nothing is disconnected', async () => {
  const { peer, ours } = hostile()
  peer.pause()
  for (let sent = 0; sent < 100 && ours.status === 'open'; sent++) {
    peer.send(Buffer.alloc(1_000 * PING.length, PING))
    await nextRound()
  }
  await expect.poll(() => ours.status).toBe('aborted')
  expect(ours.writeBufferLength).toBe(0)
})
