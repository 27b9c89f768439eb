import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type BackupSource, backUp } from '../../src/backup/back-up.ts'
import { BlockFiles } from '../../src/content/block-files.ts'
import { CachedBlockFiles } from '../../src/content/cached-block-files.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { type Engine, restoreBackup } from '../../src/index.ts'
import { statusOf, type TwoNodes, until, withTwoNodes } from '../clusters/remote-support.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { viaGateway } from '../support/read-back.ts'
import { filesIn } from '../support/temp-dir.ts'

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 1_000, 'kept elsewhere')

async function upload({ here, account }: TwoNodes, content = CONTENT): Promise<string> {
  return (await here.pins.upload(content, { account, cluster: 'far', name: 'file' })).record.cid
}

async function isCached({ dir }: TwoNodes): Promise<boolean> {
  const files = await filesIn(join(dir, 'here', 'clusters'))
  return files.some(name => name.endsWith('.data'))
}

/** Resolves once a check has confirmed the other node's content and no local copy is left. */
async function leavesThisDisk(nodes: TwoNodes): Promise<void> {
  await until('nothing of it is on this disk', async () => {
    await nodes.here.reconcile({ onlyClusters: true })
    await nodes.here.collect({ graceSeconds: 0 })
    return !(await isCached(nodes))
  })
}

/** Restores a backup beside the stopped node, and runs with an engine on it. */
async function withRestored(nodes: TwoNodes, use: (restored: Engine) => Promise<void>): Promise<void> {
  await nodes.here.stop()
  const [backup, dataDir] = [join(nodes.dir, 'backup'), join(nodes.dir, 'restored')]
  expect(await restoreBackup({ backup, dataDir })).toMatchObject({ damaged: [] })
  const restored = await nodes.openAt(dataDir)
  try {
    nodes.here = restored
    await use(restored)
  } finally {
    await restored.stop()
  }
}

async function readsBack(engine: Engine, cid: string): Promise<void> {
  const { status, bytes } = await viaGateway(engine, `/ipfs/${cid}`)
  expect([status, bytes.equals(CONTENT)]).toEqual([200, true])
}

describe('a backup of a node with a cluster on another node', () => {
  test('accepts content on the other node only, which its restore reads', async () => {
    await withTwoNodes(async nodes => {
      const { there } = nodes
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      await leavesThisDisk(nodes)
      await there.stop()
      expect(await nodes.here.backup(join(nodes.dir, 'backup'))).toMatchObject({ missing: [] })
      await there.start()
      await withRestored(nodes, async restored => {
        expect(await statusOf(nodes, cid)).toBe('pinned')
        await readsBack(restored, cid)
        expect(await restored.verify()).toMatchObject({ damaged: [] })
        expect((await restored.reconcile({ dryRun: true })).found).toEqual({})
        await restored.pins.remove({ account: nodes.account, cid })
        await until('the other has let go', async () => {
          return (await there.engine.pins.list({ account: there.account })).total === 0
        })
      })
    })
  })

  test('includes pending content, which its restore sends to the other node', async () => {
    await withTwoNodes(async nodes => {
      const { there } = nodes
      await there.stop()
      const cid = await upload(nodes)
      const outcome = await nodes.here.backup(join(nodes.dir, 'backup'))
      expect([outcome.missing, outcome.blocks > 0]).toEqual([[], true])
      await withRestored(nodes, async restored => {
        await readsBack(restored, cid)
        await there.start()
        await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
        await readsBack(restored, cid)
      })
    })
  })

  test('includes content that the other node takes during it', async () => {
    await withTwoNodes(async nodes => {
      const { here, there, dir } = nodes
      await there.stop()
      await upload(nodes)
      await here.stop()
      let isThere = false
      const elsewhere = {
        ...{ fetch: () => Promise.reject(new Error('not asked')), mayEvict: () => isThere, sizeOf: () => 1 },
        cacheBytes: 0,
      }
      const files = new CachedBlockFiles(join(dir, 'here', 'clusters', 'far'), elsewhere)
      await files.open()
      const own = new BlockFiles(join(dir, 'here'), null)
      await own.open()
      const source: BackupSource = {
        dataDir: join(dir, 'here'),
        // In the copy, all content is still to be sent, so the restored node sends it.
        copyDatabase: async file => {
          await copyFile(join(dir, 'here', 'holdfast.db'), file)
          isThere = true
          await files.trim()
        },
        blockFiles: new Map<number, BlockFiles>([[0, own]]).set(1, files),
        deletion: { hold: async () => async () => undefined },
        clock: systemClock,
        keys: async () => new Map(),
      }
      expect(await backUp(source, join(dir, 'backup'))).toMatchObject({ missing: [] })
      await files.trim()
      expect(await isCached(nodes)).toBe(false)
    })
  })
})
