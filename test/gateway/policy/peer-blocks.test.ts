import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { expect, test } from 'vitest'
import { LiveContent } from '../../../src/content/live-content.ts'
import { Denylist } from '../../../src/gateway/policy/denylist.ts'
import { PeerBlocks } from '../../../src/gateway/policy/peer-blocks.ts'
import type { NetworkNode } from '../../../src/network/network-node.ts'
import { withNodes } from '../../network/support/node.ts'
import { withStillNet } from '../../pins/fetches/support/net.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { rawCid, withContentParts } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const SHARED = pseudoRandom(40_000, 'shared')
const ownOf = (name: string) => pseudoRandom(40_000, name)

async function* tree(name: string) {
  yield { kind: 'file' as const, path: 'shared', content: SHARED }
  yield { kind: 'file' as const, path: 'own', content: ownOf(name) }
}

/**
 * Returns whether a node without blocks fetches the block from its only peer. Otherwise checks that the peer answered
 * "don't have".
 */
async function isServed(to: NetworkNode, cid: string): Promise<boolean> {
  const { signal } = new AbortController()
  const session = await to.open(CID.parse(cid), { origins: [], signal })
  try {
    await session.get(CID.parse(cid), { signal })
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'CID_NOT_FOUND' })
    // An unreachable peer would prove nothing.
    expect(session.providers().map(provider => provider.error)).toEqual(['does not have it'])
    return false
  } finally {
    session.close()
  }
}

test('peers get neither a taken-down CID nor blocks only it needs', async () => {
  await withStillNet(async net => {
    const { engine, account } = await net.node()
    const bad = (await engine.pins.uploadDirectory(tree('bad'), { account })).record.cid
    const good = (await engine.pins.uploadDirectory(tree('good'), { account })).record.cid
    const shared = String(await rawCid(SHARED))
    const all = [bad, String(await rawCid(ownOf('bad'))), shared, good, String(await rawCid(ownOf('good')))]
    const peers = await engine.addresses()
    // One peer makes all requests, because libp2p refuses the sixth connection from one host within a second.
    await withNodes([() => ({ config: { peers }, clock: new ManualClock() })], async peer => {
      const served = () => Promise.all(all.map(cid => isServed(peer, cid)))
      expect(await served()).toEqual([true, true, true, true, true])
      await engine.takedowns.add({ cid: bad, reason: 'test' })
      expect(await served()).toEqual([false, false, true, true, true])
      await engine.takedowns.add({ cid: shared, reason: 'test' })
      expect(await served()).toEqual([false, false, false, true, true])
      await engine.takedowns.remove({ cid: bad })
      expect(await served()).toEqual([true, true, false, true, true])
    })
  })
})

test('peers do not get a taken-down identity CID', async () => {
  await withContentParts(async ({ held, store, leases, clock }) => {
    const cid = CID.createV1(0x55, identity.digest(Buffer.from('inline')))
    const live = new LiveContent(held, { readerOf: () => store }, leases, clock)
    expect(new PeerBlocks(live, { denylist: new Denylist('') }).has(cid)).toBe(true)
    const blocks = new PeerBlocks(live, { denylist: new Denylist(`/ipfs/${cid}`) })
    expect([blocks.has(cid), await blocks.get(cid)]).toEqual([false, null])
    const unknown = await rawCid(Buffer.from('not here'))
    expect([blocks.has(unknown), await blocks.get(unknown)]).toEqual([false, null])
  })
})
