import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import * as dagPb from '@ipld/dag-pb'
import fc from 'fast-check'
import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { linksOf } from '../../../src/content/dag/links.ts'
import { CODEC, HASH, LONGEST_DIGEST } from '../../../src/ipld/cid.ts'
import { blockOf, identityBlock } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { dagBytes } from '../../support/read-back.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { withEngine } from '../../support/test-engine.ts'
import { type Block, carOf, streamOf } from './support/cars.ts'

type Kind = 'raw' | 'dag-pb' | 'dag-cbor' | 'dag-json' | 'identity'

/** A node and the earlier nodes that it links to. */
interface NodePlan {
  kind: Kind
  children: number[]
  size: number
}

interface Plan {
  nodes: NodePlan[]
  roots: number[]
  /** Order of the blocks: each any number of times, or never. */
  order: number[]
  /** A block that is left out. Null: none is. */
  absent: number | null
  pieceLength: number
}

const MOST_NODES = 16

const plans: fc.Arbitrary<Plan> = fc.record({
  nodes: fc.array(
    fc.record({
      kind: fc.constantFrom<Kind>('raw', 'dag-pb', 'dag-cbor', 'dag-json', 'identity'),
      children: fc.array(fc.nat(MOST_NODES), { maxLength: 4 }),
      size: fc.constantFrom(0, 1, 100, 5_000, 40_000),
    }),
    { minLength: 1, maxLength: MOST_NODES },
  ),
  roots: fc.array(fc.nat(MOST_NODES), { minLength: 1, maxLength: 3 }),
  order: fc.array(fc.nat(MOST_NODES), { minLength: 8, maxLength: 4 * MOST_NODES }),
  absent: fc.option(fc.nat(MOST_NODES), { freq: 1 }),
  pieceLength: fc.constantFrom(100, 4_096, 100_000),
})

function nodeOf({ kind, size }: NodePlan, index: number, children: CID[]): Block {
  const data = pseudoRandom(size, index)
  if (kind === 'dag-pb') {
    const Links = children.map(Hash => ({ Name: '', Tsize: 1, Hash }))
    return blockOf(CODEC.dagPb, dagPb.encode({ Data: data, Links }))
  }
  if (kind === 'dag-cbor') return blockOf(CODEC.dagCbor, dagCbor.encode({ data, deep: [{ children }] }))
  if (kind === 'dag-json') return blockOf(CODEC.dagJson, dagJson.encode({ index, children }))
  if (kind === 'identity') {
    const linking = dagCbor.encode(children)
    return identityBlock(CODEC.dagCbor, linking.length > LONGEST_DIGEST ? dagCbor.encode([]) : linking)
  }
  return blockOf(CODEC.raw, data)
}

function build({ nodes }: Plan): Block[] {
  const blocks: Block[] = []
  for (const [index, node] of nodes.entries()) {
    const children = node.kind === 'raw' || index === 0 ? [] : node.children.map(child => child % index)
    const links = children.flatMap(child => blocks[child]?.cid ?? [])
    blocks.push(nodeOf(node, index, links))
  }
  return blocks
}

/** Returns the multihashes below some roots; null if a block is missing. */
function needed(roots: readonly CID[], there: readonly Block[]): Set<string> | null {
  const keyOf = ({ multihash }: CID): string => Buffer.from(multihash.bytes).toString('hex')
  const bytes = new Map(there.map(block => [keyOf(block.cid), block.bytes]))
  const found = new Set<string>()
  const seen = new Set<string>()
  const pending = [...roots]
  for (let cid = pending.pop(); cid !== undefined; cid = pending.pop()) {
    if (seen.has(cid.toString())) continue
    seen.add(cid.toString())
    const isInline = cid.multihash.code === HASH.identity
    const block = isInline ? cid.multihash.digest : bytes.get(keyOf(cid))
    if (block === undefined) return null
    if (!isInline) found.add(keyOf(cid))
    pending.push(...linksOf(cid, block))
  }
  return found
}

test('any CAR is pinned exactly if it is whole; nothing else stays', async () => {
  const seen = { whole: 0, refused: 0 }
  await withEngine(async ({ engine, account, dataDir }) => {
    const check = fc.asyncProperty(plans, async plan => {
      const blocks = build(plan)
      const roots = plan.roots.flatMap(root => blocks[root % blocks.length]?.cid ?? [])
      const absent = plan.absent === null ? null : blocks[plan.absent % blocks.length]
      const present = blocks.filter(block => block !== absent)
      const written = plan.order.flatMap(index => present[index % present.length] ?? [])
      const wanted = needed(roots, written)
      const car = streamOf(await carOf(roots, written), plan.pieceLength)
      const imported = engine.pins.importCar(car, { account })
      if (wanted === null) {
        seen.refused++
        await expect(imported).rejects.toMatchObject({ code: 'VALIDATION' })
      } else {
        seen.whole++
        const { roots: made } = await imported
        expect(new Set(made.map(({ record }) => record.cid))).toEqual(new Set(roots.map(root => root.toString())))
        await engine.collect({ graceSeconds: 0 })
        expect(await storeSizes(dataDir)).toMatchObject({ blocks: wanted.size, garbage: 0 })
        for (const { record } of made) {
          expect((await dagBytes(await engine.clusters.backendOf(), record.cid)).bytes).toBeGreaterThanOrEqual(
            record.dagSize,
          )
          await engine.pins.remove({ account, cid: record.cid })
        }
      }
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
    })
    await fc.assert(check, { numRuns: 120 })
  })
  // Both outcomes have to occur, or the test shows little.
  expect(seen.whole).toBeGreaterThan(5)
  expect(seen.refused).toBeGreaterThan(5)
}, 240_000)
