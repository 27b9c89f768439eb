import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameReader } from '../../../src/network/exchange/frame-reader.ts'
import { decodeMessage, type ExchangeMessage, encodeMessage } from '../../../src/network/exchange/message.ts'
import { isPrivateAddress } from '../../../src/outgoing/private-address.ts'
import { pieces } from '../../support/bytes.ts'

const bytes = fc.uint8Array({ maxLength: 300 })
const messages = fc.record({
  full: fc.boolean(),
  wants: fc.array(fc.record({ cid: bytes, cancel: fc.boolean(), presence: fc.boolean(), sendDontHave: fc.boolean() }), {
    maxLength: 5,
  }),
  blocks: fc.array(fc.record({ prefix: bytes, data: fc.oneof(bytes, fc.constant(new Uint8Array(40_000).fill(7))) }), {
    maxLength: 3,
  }),
  presences: fc.array(fc.record({ cid: bytes, has: fc.boolean() }), { maxLength: 5 }),
})

const LIMITS = { wants: 5, blocks: 3, presences: 5 }

/** The decoded parts of a message. */
function read(frame: Uint8Array): ExchangeMessage {
  const { hasSurplusBlocks, fields, ...message } = decodeMessage(frame, LIMITS)
  expect(hasSurplusBlocks).toBe(false)
  expect(fields).toBeLessThan(100)
  return message
}

describe('exchange messages', () => {
  test('are the same after encoding, at every split of the stream', () => {
    fc.assert(
      fc.property(fc.array(messages, { maxLength: 4 }), fc.array(fc.integer({ min: 1, max: 700 })), (sent, cuts) => {
        const stream = Buffer.concat(sent.flatMap(encodeMessage))
        const reader = new FrameReader(1_000_000)
        const frames = [...pieces(stream, cuts)].flatMap(piece => [...reader.push(piece)])
        const empty = sent.filter(message => Buffer.concat(encodeMessage(message)).length > 1)
        expect(frames.map(frame => normal(read(frame)))).toEqual(empty.map(normal))
        expect(reader.isWithinMessage).toBe(false)
      }),
      { numRuns: 150 },
    )
  })

  test('are refused if malformed, without reading past their end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), garbage => {
        try {
          decodeMessage(garbage, LIMITS)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
      }),
      { numRuns: 1_000 },
    )
    expect(() => decodeMessage(Uint8Array.of(0x0a, 0x05, 0x01), LIMITS)).toThrow('goes beyond its message')
  })

  test('are refused from their length prefix if too long', () => {
    expect(() => [...new FrameReader(100).push(Uint8Array.of(101))]).toThrow('too long')
    expect(() => [...new FrameReader(100).push(new Uint8Array(11).fill(0x80))]).toThrow('too long')
  })
})

describe('private addresses', () => {
  test.each([
    ...['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1'],
    ...['::1', '::', 'fe80::1', 'fc00::1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:db8::1', 'x'],
  ])('%s is one', address => expect(isPrivateAddress(address)).toBe(true))

  test.each(['8.8.8.8', '172.32.0.1', '2606:4700::1111'])('%s is public', address => {
    expect(isPrivateAddress(address)).toBe(false)
  })
})

/** Compares bytes by content, regardless of their class. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(normal)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normal(inner)]))
}
