import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { expect, test } from 'vitest'
import { ByteBudget, SentBlocks } from '../../../src/content/dag/sent-blocks.ts'
import { pseudoRandom } from '../../support/bytes.ts'

const MIB = 1024 ** 2

function cids(count: number, codec = 0x55): CID[] {
  const digests = pseudoRandom(32 * count, 'digests')
  return Array.from({ length: count }, (_, index) => {
    return CID.createV1(codec, Digest.create(0x12, digests.subarray(32 * index, 32 * index + 32)))
  })
}

test('every added block is found, and no other', () => {
  const sent = new SentBlocks(new ByteBudget(MIB))
  const [added, others] = [cids(5_000), cids(5_000, 0x70)]
  for (const [index, cid] of added.entries()) {
    expect(sent.has(cid)).toBe(null)
    sent.add(cid, index % 2 === 0)
  }
  expect(added.map(cid => sent.has(cid))).toEqual(added.map((_, index) => (index % 2 === 0 ? 'whole' : 'alone')))
  expect(others.every(cid => sent.has(cid) === null)).toBe(true)
  for (const cid of added) sent.add(cid, true)
  expect(added.every(cid => sent.has(cid) === 'whole')).toBe(true)
})

test('memory counts against the budget, ends with it, and is released', () => {
  const budget = new ByteBudget(MIB)
  const sent = new SentBlocks(budget)
  let added = 0
  const fill = (): void => {
    for (const cid of cids(100_000)) {
      sent.add(cid, true)
      added++
    }
  }
  expect(fill).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  // One answer has half of it at most, and its memory is used.
  expect(budget.left).toBeGreaterThanOrEqual(MIB / 2)
  expect((MIB - budget.left) / added).toBeLessThan(60)
  const others = [new SentBlocks(budget)]
  expect(() => {
    while (others.length < 1_000) others.push(new SentBlocks(budget))
  }).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  for (const other of [sent, ...others]) other.release()
  sent.release()
  expect(budget.left).toBe(MIB)
})
