import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
import { expect, test } from 'vitest'
import { ReachWalker } from '../../src/content/reach-walk.ts'
import { Withholding } from '../../src/content/withholding.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { Denylist } from '../../src/gateway/policy/denylist.ts'
import { type ContentParts, rawCid, withContentParts } from '../support/content-parts.ts'

/** More roots than one transaction updates. */
const ROOTS = 250

function withholdingOf({ withheld: table, reach: walks, clock, store }: ContentParts): Withholding {
  const walker = new ReachWalker(walks, () => store)
  return new Withholding({ table, walks, walker, clock, logger: silentLogger })
}

/** Stages roots that all link to one block. */
async function shareOne(parts: ContentParts) {
  const shared = Buffer.from('shared')
  const cid = await rawCid(shared)
  for (let index = 0; index < ROOTS; index++) {
    const own = dagCbor.encode({ index, link: cid })
    const root = CID.createV1(dagCbor.code, await sha256.digest(own))
    const staged = await parts.stage()
    await staged.put(cid, shared)
    await staged.put(root, own)
    await parts.complete(staged, root)
  }
  return { cid, list: new Denylist(`/ipfs/${cid} gateway_status:451`) }
}

const barred = ({ database }: ContentParts): number =>
  database.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM roots WHERE barred = 1').get()?.count ?? 0

test('a takedown bars every root of its block before it is acknowledged', async () => {
  await withContentParts(async parts => {
    const { list } = await shareOne(parts)
    const withholding = withholdingOf(parts)
    withholding.wake = () => undefined
    await withholding.change(new Denylist(''), list)
    expect(barred(parts)).toBe(ROOTS)
  })
})

test('an incomplete takedown is applied again', async () => {
  await withContentParts(async parts => {
    const { list } = await shareOne(parts)
    await withholdingOf(parts).begin(list)
    const { database } = parts
    database.prepare('UPDATE withheld SET applied = 0').run()
    database.prepare('UPDATE roots SET barred = 0 WHERE id > 100').run()
    await withholdingOf(parts).begin(list)
    expect(barred(parts)).toBe(ROOTS)
    // A takedown that was lifted while the node was stopped.
    await withholdingOf(parts).begin(new Denylist(''))
    expect(database.prepare('SELECT 1 FROM withheld').get()).toBeUndefined()
  })
})

test('a walk that cannot read is repeated; its root vouches for nothing', async () => {
  await withContentParts(async parts => {
    const { cid, list } = await shareOne(parts)
    const walker = new ReachWalker(parts.reach, () => null)
    const { withheld: table, reach: walks, clock } = parts
    const withholding = new Withholding({ table, walks, walker, clock, logger: silentLogger })
    await withholding.change(new Denylist(''), list)
    await withholding.settled()
    expect(parts.held.open(cid.multihash.bytes, clock.now())).toBe(503)
    await withholding.stop()
    clock.advance(61_000)
    const again = withholdingOf(parts)
    again.wake()
    await again.settled()
    expect(parts.held.open(cid.multihash.bytes, clock.now())).toBe(451)
    expect(barred(parts)).toBe(0)
    await again.stop()
  })
})

test('a block stays watched until its last identity CID is lifted', async () => {
  await withContentParts(async parts => {
    const link = await rawCid(Buffer.from('shared'))
    const taken = [0, 1].map(index => {
      const bytes = dagCbor.encode({ index, link })
      return `/ipfs/${CID.createV1(dagCbor.code, identity.digest(bytes))}`
    })
    const noted = parts.database.prepare<[], { multihash: Uint8Array }>('SELECT multihash FROM withheld_links')
    const withholding = withholdingOf(parts)
    withholding.wake = () => undefined
    const lists = [[], taken, taken.slice(1), []].map(lines => new Denylist(lines.join('\n')))
    const counts: number[] = []
    for (const [index, list] of lists.entries()) {
      await withholding.change(lists[index - 1] ?? list, list)
      counts.push(noted.all().length)
    }
    expect(counts).toEqual([0, 2, 1, 0])
  })
})
