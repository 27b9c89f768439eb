import { expect, test } from 'vitest'
import { pseudoRandom } from '../support/bytes.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withEngine } from '../support/test-engine.ts'

const PAGE = 4_096

test('a collection returns the free pages of the database to the disk', async () => {
  await withEngine(async ({ engine, account, dataDir }) => {
    const cids: string[] = []
    for (let i = 0; i < 60; i++) {
      cids.push((await engine.pins.upload(pseudoRandom(30_000, `page ${i}`), { account })).record.cid)
    }
    const full = (await engine.stats()).databaseBytes
    for (const cid of cids) await engine.pins.remove({ account, cid })
    await engine.collect({ graceSeconds: 0 })
    expect((await engine.stats()).databaseBytes).toBeLessThan(full - 60 * 7 * PAGE + 64 * PAGE)
    const free = withDatabase(dataDir, db =>
      db.prepare<[], { freelist_count: number }>('SELECT freelist_count FROM pragma_freelist_count()').get(),
    )
    expect(free?.freelist_count).toBe(0)
  })
})
