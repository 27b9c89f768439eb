import type { Stream } from '@libp2p/interface'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { sha256 } from '../../../src/ipld/block-hash.ts'
import { FrameReader } from '../../../src/network/exchange/frame-reader.ts'
import { decodeMessage, type SentBlock } from '../../../src/network/exchange/message.ts'
import { PeerChannel } from '../../../src/network/exchange/peer-channel.ts'
import { type PeerAnswer, PeerWants } from '../../../src/network/exchange/peer-wants.ts'
import { freeLone } from '../../../src/network/lone-blocks.ts'

const LIMITS = { wants: 100, blocks: 0, presences: 0 }

/** A stream that accepts everything at once and calls `onFrame` with each message. */
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

test('wants of one event-loop turn share a message', async () => {
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

describe('the memory of a received block', () => {
  const size = 100_000

  /** Requests each block the given number of times and delivers all in one message. Returns the answers. */
  async function answersTo(...times: readonly number[]): Promise<PeerAnswer[]> {
    const channel = new PeerChannel(async () => takingStream(() => undefined), systemClock)
    const wants = new PeerWants(channel, systemClock)
    const answers: Promise<PeerAnswer>[] = []
    const blocks: SentBlock[] = []
    const message = Buffer.alloc(times.length * size)
    for (const [at, count] of times.entries()) {
      const data = message.subarray(at * size, (at + 1) * size).fill(at + 1)
      const cid = CID.createV1(0x55, await sha256(data))
      for (let time = 0; time < count; time++) answers.push(wants.ask(cid, false).answer)
      blocks.push({ prefix: cid.bytes.subarray(0, 4), data })
    }
    await wants.receive({ presences: [], blocks })
    wants.lost('the test has ended')
    channel.close()
    return Promise.all(answers)
  }

  function lengthsOnceFreed(answers: PeerAnswer[]): number[] {
    const blocks = answers.flatMap(answer => (answer.kind === 'block' ? [answer.bytes] : []))
    for (const block of blocks) freeLone(block)
    return blocks.map(({ length }) => length)
  }

  test('can be freed by its only user', async () => {
    expect(lengthsOnceFreed(await answersTo(1))).toEqual([0])
  })

  test('cannot be freed if two callers requested it', async () => {
    expect(lengthsOnceFreed(await answersTo(2))).toEqual([size, size])
  })

  test('cannot be freed if other blocks shared its message', async () => {
    expect(lengthsOnceFreed(await answersTo(1, 1))).toEqual([size, size])
  })
})
