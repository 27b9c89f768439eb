import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { bases } from 'multiformats/basics'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import {
  base58OfMultihash,
  CODEC,
  checkNew,
  cidOfBytes,
  cidOfText,
  firstCid,
  HASH,
  LONGEST_DIGEST,
  labelOfCid,
  multihashOfBase58,
  parseCid,
} from '../../src/ipld/cid.ts'
import { blockOf, identityBlock } from '../pins/fetches/support/dags.ts'

const ordinary = blockOf(CODEC.dagPb, Buffer.from('ordinary')).cid
const identity = (size: number, codec: number = CODEC.raw): CID => identityBlock(codec, Buffer.alloc(size, 1)).cid

describe('a CID', () => {
  test('is read in every multibase and in bytes', () => {
    for (const { encoder } of Object.values(bases)) {
      expect(cidOfText(ordinary.toString(encoder)).equals(ordinary), encoder.name).toBe(true)
    }
    expect(cidOfText(ordinary.toV0().toString()).equals(ordinary.toV0())).toBe(true)
    expect(cidOfBytes(ordinary.bytes).equals(ordinary)).toBe(true)
    const [first, rest] = firstCid(Buffer.concat([ordinary.toV0().bytes, Buffer.from('rest')]))
    expect([String(first), Buffer.from(rest).toString()]).toEqual([ordinary.toV0().toString(), 'rest'])
    expect(String(parseCid(` ${ordinary}\n`))).toBe(String(ordinary))
  })

  test('with version 0 has exactly the length of SHA-256', () => {
    const long = Buffer.concat([Uint8Array.from([0x12, 0x80, 0x01]), Buffer.alloc(128)])
    expect(CID.decode(long).version).toBe(0)
    expect(() => cidOfBytes(long)).toThrow('too long')
    expect(() => firstCid(long)).toThrow('too long')
  })

  test('with a hash has a digest of at most 128 bytes', () => {
    const of = (size: number): Uint8Array =>
      Buffer.concat([
        Uint8Array.from([1, CODEC.raw, HASH.sha2_512, 0x80 | (size & 127), size >> 7]),
        Buffer.alloc(size),
      ])
    expect(cidOfBytes(of(128)).multihash.size).toBe(128)
    expect(() => cidOfBytes(of(129))).toThrow('too long')
  })

  test('stored by version 0.2.0 is read up to 16 KiB', () => {
    const stored = identity(16 * 1024)
    expect(String(cidOfBytes(stored.bytes))).toBe(String(stored))
    expect(parseCid(String(stored)).equals(stored)).toBe(true)
    expect(() => cidOfBytes(identity(16 * 1024 + 1).bytes)).toThrow('too long')
    expect(() => cidOfText(identity(16 * 1024 + 100).toString())).toThrow('too long')
  })

  test('in a base of quadratic time has at most 512 characters', () => {
    expect(cidOfText(identity(300).toString(base58btc)).multihash.size).toBe(300)
    expect(() => cidOfText(identity(400).toString(base58btc))).toThrow('too long')
    expect(() => cidOfText(identity(400).toString(base36))).toThrow('too long')
  })

  test('in new content contains at most 128 bytes, whatever its codec', () => {
    for (const codec of Object.values(CODEC)) {
      checkNew(identity(LONGEST_DIGEST, codec))
      const refused = expect.objectContaining({ code: 'INVALID_CID', message: expect.stringContaining('129 bytes') })
      expect(() => checkNew(identity(LONGEST_DIGEST + 1, codec))).toThrow(refused)
    }
  })

  test('in a message is cut if it is long', () => {
    const message = (): void => checkNew(identity(16_000))
    expect(message).toThrow(/^bafkqb.{50,70}… has 16000 bytes in itself, more than the 128 bytes/)
  })

  test('stands in a host name if it fits a label', () => {
    expect(labelOfCid(ordinary.toV0())).toBe(String(ordinary))
    expect(labelOfCid(identity(36))).toMatch(/^k/)
    expect(labelOfCid(identity(60))).toBe(null)
    expect(labelOfCid(identity(16_000))).toBe(null)
  })
})

test("base58 multihashes are written to 128 bytes, read to SHA-256's length", () => {
  const { multihash } = ordinary
  const text = base58OfMultihash(multihash) ?? ''
  expect(text).toBe(ordinary.toV0().toString())
  expect(multihashOfBase58(text).bytes).toEqual(multihash.bytes)
  expect(base58OfMultihash(identity(129).multihash)).toBe(null)
  expect(() => multihashOfBase58('2'.repeat(65))).toThrow('too long')
})
