import type { Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { Semaphore } from '../../../src/concurrency/capacity/semaphore.ts'
import { varintBytes } from '../../../src/ipld/varint.ts'
import { FrameReader } from '../../../src/network/exchange/frame-reader.ts'
import { InboundStream, MOST_WAITING_BYTES } from '../../../src/network/exchange/inbound-stream.ts'
import { decodeMessage, emptyMessage, encodeMessage } from '../../../src/network/exchange/message.ts'
import { Misconduct } from '../../../src/network/exchange/misconduct.ts'
import { PeerChannel } from '../../../src/network/exchange/peer-channel.ts'
import { PeerWants } from '../../../src/network/exchange/peer-wants.ts'
import { WantQueue } from '../../../src/network/exchange/want-queue.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { hostOf, rawBlock, someBlocks } from '../support/blocks.ts'
import { withNodes } from '../support/node.ts'

const PROTOCOL = '/ipfs/bitswap/1.2.0'
const never = new AbortController().signal
const LIMITS = { wants: 4_096, blocks: 0, presences: 0 }
const wanted = rawBlock(Buffer.from('wanted'))
/** CID version 1, raw, SHA-256 of 32 bytes. */
const PREFIX = Uint8Array.of(1, 0x55, 0x12, 32)

/** Encodes a message without its length prefix. */
function bodyOf(message: Partial<ReturnType<typeof emptyMessage>>): Uint8Array {
  const framed = Buffer.concat(encodeMessage({ ...emptyMessage(), ...message }))
  return [...new FrameReader(framed.length).push(framed)][0] ?? new Uint8Array()
}

/** Repeats a field of bytes. */
function repeated(field: number, bytes: Uint8Array, count: number): Buffer {
  const one = Buffer.concat([Uint8Array.of(field * 8 + 2, bytes.length), bytes])
  return Buffer.alloc(one.length * count, one)
}

/** Encodes one-byte blocks. */
function junk(count: number): Uint8Array {
  return repeated(3, Uint8Array.of(10, PREFIX.length, ...PREFIX, 18, 1, 7), count)
}

/** Creates wants on a channel to an absent peer. */
function wantsOf(cids: readonly CID[]): { wants: PeerWants; answers: string[]; bytes: Uint8Array[] } {
  const clock = new ManualClock()
  const channel = new PeerChannel(() => new Promise(() => undefined), clock)
  const wants = new PeerWants(channel, clock)
  const answers: string[] = []
  const bytes: Uint8Array[] = []
  for (const cid of cids) {
    void wants.ask(cid, false).answer.then(answer => {
      answers.push(answer.kind)
      if (answer.kind === 'block') bytes.push(answer.bytes)
    })
  }
  return { wants, answers, bytes }
}

describe('a message', () => {
  test('with 500,000 wants is decoded up to the limit', () => {
    const wants = repeated(1, Uint8Array.of(10, 2, 1, 0x55, 32, 1, 40, 1), 500_000)
    const body = Buffer.concat([Uint8Array.of(10), varintBytes(wants.length), wants])
    const message = decodeMessage(body, LIMITS)
    expect(message.wants).toHaveLength(4_096)
    expect(message.fields).toBeLessThan(4_096 * 7)
    expect(decodeMessage(body, { ...LIMITS, wants: 0 }).fields).toBeLessThan(5)
  })

  test('with 363,636 blocks is decoded up to the requested number', () => {
    const body = junk(363_636)
    for (const blocks of [0, 1, 7]) {
      const message = decodeMessage(body, { ...LIMITS, blocks })
      expect(message.blocks).toHaveLength(blocks)
      expect(message.hasSurplusBlocks).toBe(true)
      expect(message.fields).toBeLessThan(5 * (blocks + 1))
    }
  })

  test('is refused after some thousand unknown fields', () => {
    expect(() => decodeMessage(repeated(9, Uint8Array.of(), 2_000_000), LIMITS)).toThrow('too many fields')
  })

  test('is not kept in memory by its small parts', async () => {
    const padding = { prefix: PREFIX, data: new Uint8Array(100_000) }
    const want = { cid: wanted.cid.bytes, cancel: false, presence: false, sendDontHave: true }
    const block = { prefix: PREFIX, data: wanted.bytes }
    const message = decodeMessage(bodyOf({ wants: [want], blocks: [block, padding] }), { ...LIMITS, blocks: 2 })
    expect(message.wants[0]?.cid.buffer.byteLength).toBeLessThan(100)
    const { wants, bytes } = wantsOf([wanted.cid])
    expect(await wants.receive({ presences: [], blocks: message.blocks.slice(0, 1) })).toBe(true)
    expect(bytes.map(bytes => [Buffer.from(bytes).toString(), bytes.buffer.byteLength])).toEqual([['wanted', 6]])
  })
})

describe('received blocks', () => {
  /** Counts the reads of each block's data. */
  function counted(blocks: ReadonlyArray<Uint8Array>) {
    let reads = 0
    const sent = blocks.map(data => ({
      prefix: PREFIX,
      get data() {
        reads++
        return data
      },
    }))
    return { sent, reads: () => reads }
  }

  test('are not hashed if nothing was requested', async () => {
    const { sent, reads } = counted(someBlocks(100, 10).map(({ bytes }) => bytes))
    expect(await wantsOf([]).wants.receive({ presences: [], blocks: sent })).toBe(true)
    expect(reads()).toBe(0)
  })

  test('are ignored after the first unrequested one', async () => {
    const { wants, answers } = wantsOf([wanted.cid])
    const { sent, reads } = counted(someBlocks(100, 10).map(({ bytes }) => bytes))
    expect(await wants.receive({ presences: [], blocks: sent })).toBe(false)
    // Its length and its bytes.
    expect(reads()).toBeLessThan(4)
    expect(answers).toEqual(['wrong'])
  })

  test('all arrive in one message, large and small', async () => {
    const blocks = [...someBlocks(20, 100), ...someBlocks(3, 100_000, 'large')]
    const { wants, answers } = wantsOf(blocks.map(({ cid }) => cid))
    expect(wants.expected).toBe(23)
    const sent = blocks.map(({ bytes }) => ({ prefix: PREFIX, data: bytes }))
    expect(await wants.receive({ presences: [], blocks: sent })).toBe(true)
    expect(answers).toEqual(blocks.map(() => 'block'))
  })
})

describe('queued wants', () => {
  const fill = (queue: WantQueue, count: number, seed: string): void => {
    for (let i = 0; i < count; i++) queue.add(`${seed} ${i}`, { cid: wanted.cid, presence: true, sendDontHave: false })
  }

  test('have a limit per peer, and a lower one under load', () => {
    const all = { count: 0 }
    const queues = Array.from({ length: 20 }, () => new WantQueue(all))
    for (const [i, queue] of queues.entries()) fill(queue, 5_000, `peer ${i}`)
    expect(queues.map(queue => queue.size)).toEqual(queues.map((_, i) => (i < 16 ? 4_096 : 128)))
    expect(all.count).toBe(16 * 4_096 + 4 * 128)
    expect(queues[0]?.take(4)).toHaveLength(4)
    queues[1]?.delete('peer 1 0')
    for (const queue of queues) queue.clear()
    expect(all.count).toBe(0)
  })
})

describe('misconduct', () => {
  test('is forgiven over time, and repeated misconduct bans for ten minutes', async () => {
    const clock = new ManualClock()
    const misconduct = new Misconduct(clock)
    const notes = (count: number) => Array.from({ length: count }, () => misconduct.note('a'))
    expect(notes(7)).not.toContain(true)
    await clock.advance(3 * 60_000)
    expect(notes(3)).not.toContain(true)
    expect(misconduct.isBanned('a')).toBe(false)
    expect(notes(1)).toEqual([true])
    expect(misconduct.isBanned('a')).toBe(true)
    expect(misconduct.isBanned('b')).toBe(false)
    await clock.advance(10 * 60_000)
    expect(misconduct.isBanned('a')).toBe(false)
  })
})

describe('a peer that floods', () => {
  test('is disconnected and banned while another peer serves blocks', () => {
    const blocks = someBlocks(50, 50_000)
    return withNodes([() => ({}), () => ({ blocks: hostOf(blocks) }), () => ({})], async (victim, honest, hostile) => {
      const { libp2p } = hostile.helia
      await libp2p.unhandle(PROTOCOL)
      await libp2p.handle(PROTOCOL, () => undefined)
      const asking = await victim.open(wanted.cid, { origins: hostile.addresses(), signal: never })
      const answer = expect(asking.get(wanted.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      await expect.poll(() => victim.peerCount()).toBe(1)
      const body = junk(200_000)
      const flood = async (): Promise<void> => {
        const stream = await libp2p.dialProtocol(multiaddr(victim.addresses()[0] ?? ''), PROTOCOL)
        for (let i = 0; i < 2; i++) for (const piece of [varintBytes(body.length), body]) stream.send(piece)
        await stream.onDrain()
      }
      const fetching = await victim.open(wanted.cid, { origins: honest.addresses(), signal: never })
      const fetched = blocks.map(({ cid }) => fetching.get(cid, { signal: never }))
      for (let i = 0; i < 4; i++) await flood().catch(() => undefined)
      expect((await Promise.all(fetched)).map(bytes => bytes.length)).toEqual(blocks.map(() => 50_000))
      await answer
      const isConnected = () => victim.helia.libp2p.getConnections(libp2p.peerId).length > 0
      await expect.poll(isConnected).toBe(false)
      await expect(flood()).rejects.toThrow()
    })
  })
})

describe('streams', () => {
  class FakeStream extends EventTarget {
    send(data: Uint8Array): void {
      this.dispatchEvent(Object.assign(new Event('message'), { data }))
    }
  }

  interface Watching {
    onFailure: (error: unknown) => void
    room: { waitingBytes: number }
  }

  /** Opens a stream that logs the owner of each message. A message takes one event-loop turn. */
  function streamOf(
    owner: string,
    gate: Semaphore,
    order: string[],
    { onFailure = () => undefined, room = { waitingBytes: 0 } }: Partial<Watching> = {},
  ) {
    const stream = new FakeStream()
    const onFrame = async () => {
      order.push(owner)
      await new Promise(resolve => setImmediate(resolve))
      return { done: Promise.resolve() }
    }
    const handling = { onFrame, onBroken: () => order.push(`${owner} broken`), onFailure }
    new InboundStream(stream as unknown as Stream, new FrameReader(1_000), { owner, gate, room, handling })
    return stream
  }

  const frames = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => Buffer.of(1, 7)))

  test('take turns by peer', async () => {
    const order: string[] = []
    const gate = new Semaphore(1)
    const greedy = Array.from({ length: 8 }, () => streamOf('greedy', gate, order))
    const modest = streamOf('modest', gate, order)
    for (const stream of greedy) stream.send(frames(100))
    modest.send(frames(5))
    await expect.poll(() => order.length).toBe(805)
    expect(order.lastIndexOf('modest')).toBeLessThan(20)
  })

  test('fail with too many unread bytes and free them', async () => {
    const order: string[] = []
    const failures: unknown[] = []
    const room = { waitingBytes: 0 }
    const watching = { room, onFailure: (error: unknown) => failures.push(error) }
    const [first, second] = [
      streamOf('a', new Semaphore(1), order, watching),
      streamOf('a', new Semaphore(1), order, watching),
    ]
    const long = Buffer.concat(
      Array.from({ length: 1_000 }, () => Buffer.concat([Buffer.of(0xe8, 0x07), Buffer.alloc(1_000)])),
    )
    const sends = Math.floor(MOST_WAITING_BYTES / long.length)
    for (let i = 0; i < sends; i++) first?.send(long)
    expect([room.waitingBytes, failures]).toEqual([sends * long.length, []])
    second?.send(long)
    expect(failures).toEqual([expect.objectContaining({ message: 'too much waits to be read' })])
    second?.send(long)
    expect(room.waitingBytes).toBe(sends * long.length)
  })

  test('have no unread bytes after reading', async () => {
    const order: string[] = []
    const room = { waitingBytes: 0 }
    const stream = streamOf('a', new Semaphore(1), order, { room })
    for (let i = 0; i < 30; i++) stream.send(frames(10))
    expect(room.waitingBytes).toBe(600)
    await expect.poll(() => order.length).toBe(300)
    expect(room.waitingBytes).toBe(0)
  })

  test('report a cut or malformed message after all earlier ones', async () => {
    const order: string[] = []
    const failures: unknown[] = []
    const stream = streamOf('a', new Semaphore(1), order)
    stream.send(frames(2))
    stream.send(Buffer.of(9, 1))
    stream.dispatchEvent(new Event('close'))
    await expect.poll(() => order).toEqual(['a', 'a', 'a broken'])
    const empty = streamOf('b', new Semaphore(1), order, { onFailure: error => failures.push(error) })
    empty.send(new Uint8Array(1_000_000))
    await expect.poll(() => failures).toEqual([expect.objectContaining({ message: 'too many messages are empty' })])
  })
})
