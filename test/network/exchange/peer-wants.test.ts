import type { Stream } from '@libp2p/interface'
import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { sha256 } from '../../../src/domain/block-hash.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { FrameReader } from '../../../src/network/exchange/frame-reader.ts'
import { decodeMessage } from '../../../src/network/exchange/message.ts'
import { PeerChannel } from '../../../src/network/exchange/peer-channel.ts'
import { PeerWants } from '../../../src/network/exchange/peer-wants.ts'

const LIMITS = { wants: 100, blocks: 0, presences: 0 }

/** A stream that takes everything at once; `onFrame` is called with each message. */
function takingStream(onFrame: (frame: Uint8Array) => void): Stream {
  const frames = new FrameReader(1_000_000)
  const stream = {
    writeStatus: 'writable',
    writeBufferLength: 0,
    send: (piece: Uint8Array) => {
      for (const frame of frames.push(piece)) onFrame(frame)
      return true
    },
    addEventListener: () => undefined,
    abort: () => undefined,
  }
  return stream as unknown as Stream
}

test('wants that come up one after the other in a turn go in one message', async () => {
  const cids: CID[] = []
  for (let index = 0; index < 9; index++) cids.push(CID.createV1(0x55, await sha256(Uint8Array.of(index))))
  const told: string[][] = []
  const stream = takingStream(frame => {
    const { wants } = decodeMessage(frame, LIMITS)
    told.push(wants.map(({ cid }) => CID.decode(cid).toString()))
    if (told.length === 1) void rest()
  })
  const channel = new PeerChannel(async () => stream, systemClock)
  const wants = new PeerWants(channel, systemClock)
  const all = Promise.withResolvers<void>()
  const rest = async (): Promise<void> => {
    for (const cid of cids.slice(1)) {
      wants.ask(cid, false)
      for (let step = 0; step < 10; step++) await Promise.resolve()
    }
    setImmediate(() => setImmediate(() => setImmediate(all.resolve)))
  }
  wants.ask(cids[0] as CID, false)
  await all.promise
  channel.close()
  expect(told).toEqual([[String(cids[0])], cids.slice(1).map(String)])
})
