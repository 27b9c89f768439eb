import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pseudoRandom } from '../support/bytes.ts'
import { viaGateway } from '../support/read-back.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { statusOf, type TwoNodes, until, withTwoNodes } from './remote-support.ts'

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 1_000, 'remote')

async function upload({ here, account }: TwoNodes, content = CONTENT): Promise<string> {
  const { record } = await here.pins.upload(content, { account, cluster: 'far', name: 'file' })
  return record.cid
}

function blocksThere({ there }: TwoNodes): Promise<number> {
  return there.engine.collect({ graceSeconds: 0 }).then(() => countBlocks(there.dataDir))
}

function countBlocks(dataDir: string): number {
  return withDatabase(dataDir, db => {
    return db.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM blocks').get()?.count ?? -1
  })
}

async function recordsThere({ there }: TwoNodes): Promise<number> {
  return (await there.engine.pins.list({ account: there.account })).total
}

describe('a cluster that another node keeps', () => {
  test('has an upload once the other has it, reads it from there, and lets go of it with the record', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      expect(await recordsThere(nodes)).toBe(1)
      expect(await blocksThere(nodes)).toBe(4)
      await until('nothing of it is on this disk', async () => {
        const { damaged } = await nodes.here.verify()
        expect(damaged).toEqual([])
        const files = await import('node:fs/promises').then(fs =>
          fs.readdir(join(nodes.dir, 'here', 'clusters', 'far', 'blocks'), { recursive: true }),
        )
        return files.filter(name => name.endsWith('.data')).length === 0
      })
      const { status, bytes } = await viaGateway(nodes.here, `/ipfs/${cid}`)
      expect(status).toBe(200)
      expect(bytes.equals(CONTENT)).toBe(true)
      await nodes.here.pins.remove({ account: nodes.account, cid })
      await until('the other has let go', async () => (await recordsThere(nodes)) === 0)
      expect(await blocksThere(nodes)).toBe(0)
      await nodes.here.collect({ graceSeconds: 0 })
      expect(countBlocks(join(nodes.dir, 'here'))).toBe(0)
    })
  })
})
