import { expect, test } from 'vitest'
import { withStillNet } from '../../pins/fetches/support/net.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { rawCid } from '../../support/content-parts.ts'

const SHARED = pseudoRandom(40_000, 'shared')

async function* tree(own: string) {
  yield { kind: 'file' as const, path: 'shared', content: SHARED }
  yield { kind: 'file' as const, path: 'own', content: pseudoRandom(40_000, own) }
}

test('what is taken down is not served to peers: the CID, and what nothing else needs', async () => {
  await withStillNet(async net => {
    const { engine, account } = await net.node()
    const bad = (await engine.pins.uploadDirectory(tree('bad'), { account })).record.cid
    const good = (await engine.pins.uploadDirectory(tree('good'), { account })).record.cid
    const own = (await rawCid(pseudoRandom(40_000, 'bad'))).toString()
    const shared = (await rawCid(SHARED)).toString()
    const peers = await engine.addresses()
    /** Whether a node of its own gets it from there. */
    const isServed = async (cid: string): Promise<boolean> => {
      const other = await net.node({ network: { peers } })
      const pinned = other.engine.pins.pin({ account: other.account, cid })
      return pinned.then(
        ({ record }) => record.status === 'pinned',
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'CID_NOT_FOUND' })
          return false
        },
      )
    }
    const served = async () => Promise.all([bad, own, shared, good].map(isServed))

    expect(await served()).toEqual([true, true, true, true])
    await engine.takedowns.add({ cid: bad, reason: 'test' })
    expect(await served()).toEqual([false, false, true, true])
    await engine.takedowns.add({ cid: shared, reason: 'test' })
    expect(await isServed(shared)).toBe(false)
    await engine.takedowns.remove({ cid: bad })
    expect(await isServed(own)).toBe(true)
  })
})
