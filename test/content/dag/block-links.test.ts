import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { linksOf, newLinks } from '../../../src/content/dag/links.ts'
import { ADMITTED } from '../../../src/content/dag/walk.ts'
import { CODEC, dagKey } from '../../../src/ipld/cid.ts'
import { blockOf, leaf } from '../../pins/fetches/support/dags.ts'
import { turnsDuring } from '../../support/turns-during.ts'

const cids = fc.nat(50).map(number => leaf(Buffer.from([number])).root)
const documents = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, 0, -1, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32, -(2 ** 40), 1.5),
    fc.string(),
    fc.uint8Array({ maxLength: 300 }),
    cids,
    fc.array(tie('value'), { maxLength: 30 }),
    fc.dictionary(
      fc.string().filter(key => key !== '/' && key !== '__proto__'),
      tie('value'),
      { maxKeys: 30 },
    ),
  ),
})).value

/** Returns the links in a decoded value, in no order. */
function linksIn(value: unknown): string[] {
  const cid = CID.asCID(value)
  if (cid !== null) return [cid.toString()]
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.values(value).flatMap(linksIn)
}

function found(codec: number, bytes: Uint8Array): string[] {
  return Array.from(linksOf(blockOf(codec, bytes).cid, bytes))
    .map(cid => cid.toString())
    .sort()
}

describe('the links of a block', () => {
  test.each([
    ['DAG-CBOR', CODEC.dagCbor, dagCbor.encode],
    ['DAG-JSON', CODEC.dagJson, dagJson.encode],
  ])('in %s are those of its decoded value', (_, codec, encode) => {
    fc.assert(
      fc.property(documents, value => {
        expect(found(codec, encode(value))).toEqual(linksIn(value).sort())
      }),
      { numRuns: 300 },
    )
  })

  test('are found at any depth, among any amount of other data', () => {
    const { root } = leaf(Buffer.from('deep'))
    const link = dagCbor.encode(root)
    const deep = Buffer.concat([Buffer.alloc(90_000, 0x81), link])
    const wide = Buffer.concat([
      dagCbor.encode(Array(500_000).fill(null)).subarray(0, 5),
      Buffer.alloc(499_999, 0xf6),
      link,
    ])
    for (const bytes of [deep, wide]) expect(found(CODEC.dagCbor, bytes)).toEqual([root.toString()])
    const json = Buffer.from(`${'['.repeat(90_000)}{"/":"${root}"}${']'.repeat(90_000)}`)
    expect(found(CODEC.dagJson, json)).toEqual([root.toString()])
  })

  test('end a walk at the first one over the limit', async () => {
    const links = Array.from({ length: 100 }, (_, index) => leaf(Buffer.from(`link ${index}`)).root)
    const { cid, bytes } = blockOf(CODEC.dagCbor, dagCbor.encode(links))
    const seen = new Set([dagKey(cid)])
    await expect(newLinks(cid, bytes, { seen, maxBlocks: 10 })).rejects.toMatchObject({ code: 'VALIDATION' })
    expect(seen.size).toBe(10)
    seen.delete(dagKey(cid))
    expect(await newLinks(cid, bytes, { seen, maxBlocks: 100 })).toHaveLength(91)
  })

  test('are searched in turns, in any kind of block', async () => {
    const { root } = leaf(Buffer.from('last'))
    const bytes = dagCbor.encode([...Array<null>(300_000).fill(null), root])
    const look = () => newLinks(blockOf(CODEC.dagCbor, bytes).cid, bytes, { seen: new Set(), maxBlocks: ADMITTED })
    const { result, turns } = await turnsDuring(look)
    expect(result.map(String)).toEqual([root.toString()])
    expect(turns).toBeGreaterThan(1)
  })
})
