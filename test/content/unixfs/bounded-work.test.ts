import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { importFile } from '../../../src/content/unixfs/unixfs-import.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { gate, rawCid, turns, withContentParts } from '../../support/content-parts.ts'
import { EMPTY, storeSizes, withDatabase } from '../../support/store-inspection.ts'
import { withEngine } from '../../support/test-engine.ts'

const MiB = 1024 ** 2

/** Waits until nothing has changed for many turns of the event loop. */
async function quiet(measure: () => number): Promise<number> {
  for (let seen = -1; ; ) {
    if (measure() === seen) return seen
    seen = measure()
    await turns(300)
  }
}

describe('bounded work', () => {
  test('stops reading a source while the disk stands still', async () => {
    await withContentParts(async parts => {
      const disk = gate()
      parts.files.beforeWrite = () => disk.opened
      let pulled = 0
      const source = (async function* (): AsyncGenerator<Uint8Array> {
        for (; pulled < 200; pulled++) yield pseudoRandom(MiB, pulled)
      })()
      const staged = await parts.stage()
      const importing = importFile(staged, source)
      const stoodAt = await quiet(() => pulled)
      expect(stoodAt).toBeGreaterThan(4)
      expect(stoodAt).toBeLessThan(60)
      disk.open()
      const { size } = await importing
      expect(size).toBe(200 * MiB)
      await staged.settle()
      await staged.abandon()
      await parts.collector.collect(0)
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test('lets other writes through during a collection of any size', async () => {
    await withContentParts(async parts => {
      const staged = await parts.stage()
      const made = Array.from({ length: 2_000 }, (_, i) => Buffer.from(`small block ${i}`))
      const cids = await Promise.all(made.map(rawCid))
      await Promise.all(made.map((bytes, i) => staged.put(cids[i] ?? CID.parse(''), bytes)))
      await parts.complete(staged, await rawCid(Buffer.from('small block 0')))
      await parts.drop(staged)
      let isOver = false
      const collecting = parts.collector.collect(0).finally(() => {
        isOver = true
      })
      let between = 0
      while (!isOver) {
        await (await parts.stage()).abandon()
        between++
      }
      expect((await collecting).blocks).toBe(2_000)
      expect(between).toBeGreaterThan(5)
      await parts.collector.collect(0)
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test('keeps blocks that uploads share with a running collection', async () => {
    await withEngine(async ({ engine, account, dataDir }) => {
      const shared = pseudoRandom(MiB, 'shared')
      for (let round = 0; round < 6; round++) {
        const old = await engine.pins.upload([shared, pseudoRandom(2 * MiB, `old ${round}`)], { account })
        await engine.pins.remove({ account, cid: old.record.cid })
        const [, made] = await Promise.all([
          engine.collect({ graceSeconds: 0 }),
          engine.pins.upload([shared, pseudoRandom(1_000, `new ${round}`)], { account }),
        ])
        const verified = await engine.verify()
        expect(verified.damaged).toEqual([])
        await engine.pins.remove({ account, cid: made.record.cid })
      }
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
    })
  })

  test('only marks unfinished roots of a crash at the start', async () => {
    await withEngine(async test => {
      await test.engine.stop()
      withDatabase(test.dataDir, db =>
        db.transaction(() => {
          const stage = db.prepare<[number]>(
            "INSERT INTO roots (backend_id, state, created_at) VALUES (0, 'staging', ?)",
          )
          for (let i = 0; i < 1_000; i++) stage.run(i)
        }),
      )
      await test.restart()
      const states = (): unknown[] =>
        withDatabase(test.dataDir, db => db.prepare('SELECT state, COUNT(*) AS count FROM roots GROUP BY state').all())
      expect(states()).toEqual([{ state: 'dropped', count: 1_000 }])
      expect((await test.engine.collect({ graceSeconds: 0 })).roots).toBe(1_000)
      expect(states()).toEqual([])
    })
  })
})
