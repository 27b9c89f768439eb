import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { randomFile } from '../pins/fetches/support/dags.ts'
import { withNet } from '../pins/fetches/support/net.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { filesIn } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { withClusters } from '../support/two-clusters.ts'

const DAY = 86_400_000

function state(dataDir: string): { lastBlock: number; blocks: number; damaged: number } | undefined {
  const sql = 'SELECT last_block AS lastBlock, blocks, damaged FROM verification'
  return withDatabase(dataDir, db => db.prepare<[], { lastBlock: number; blocks: number; damaged: number }>(sql).get())
}

interface Advancing {
  advance(ms: number): void
}

/** Advances the clock until a due round has ended. Returns the number of steps. */
async function round({ clock, dataDir, engine }: Pick<TestEngine, 'dataDir' | 'engine'> & { clock: Advancing }) {
  clock.advance(31 * DAY)
  const { endedAt: before } = (await engine.stats()).verification
  let moves = 0
  await expect
    .poll(
      async () => {
        clock.advance(60_000)
        moves++
        return (await engine.stats()).verification.endedAt
      },
      { interval: 1 },
    )
    .not.toBe(before)
  return { moves, ...state(dataDir) }
}

async function damageOne(dataDir: string): Promise<void> {
  const [file = ''] = await filesIn(join(dataDir, 'blocks'))
  await writeFile(join(dataDir, 'blocks', file), 'damaged')
}

async function quarantined(dataDir: string): Promise<string[]> {
  return readdir(join(dataDir, 'quarantine')).catch(() => [])
}

describe('scheduled verification', () => {
  test('checks all blocks when a round is due, and none before', async () => {
    await withEngine(async test => {
      const { engine, account, clock, dataDir } = test
      for (let i = 0; i < 30; i++) await engine.pins.upload(pseudoRandom(50, `round ${i}`), { account })
      clock.advance(29 * DAY)
      expect(state(dataDir)).toEqual({ lastBlock: 0, blocks: 0, damaged: 0 })
      expect(await round(test)).toMatchObject({ lastBlock: 0, blocks: 30, damaged: 0 })
      expect((await engine.stats()).verification).toMatchObject({ blocks: 30, damaged: 0, isRunning: false })
    })
  })

  test('keeps its rate, and resumes after a restart', async () => {
    await withEngine(
      async test => {
        const { engine, account, clock, dataDir } = test
        for (let i = 0; i < 30; i++) await engine.pins.upload(pseudoRandom(50, `slow ${i}`), { account })
        // A timer may be set after the clock has moved.
        const blocks = (): number | undefined => {
          clock.advance(100)
          return state(dataDir)?.blocks
        }
        clock.advance(31 * DAY)
        await expect.poll(blocks).toBe(8)
        // Eight blocks count 33,168 bytes, which take over 32 seconds.
        clock.advance(31_000)
        // Long enough for a running step.
        await engine.verify()
        await engine.collect()
        expect(state(dataDir)?.blocks).toBe(8)
        clock.advance(2_000)
        await expect.poll(blocks).toBe(16)
        await test.restart()
        await expect.poll(blocks).toBe(24)
      },
      { verify: { bytesPerSecond: 1_024 } },
    )
  })

  test('is off if it is not configured', async () => {
    await withEngine(
      async ({ engine, account, clock, dataDir }) => {
        await engine.pins.upload(pseudoRandom(50, 'off'), { account })
        clock.advance(400 * DAY)
        expect(state(dataDir)).toBeUndefined()
      },
      { verify: { everyDays: 0 } },
    )
  })

  test('quarantines damage, and without a network leaves the pin for an upload', async () => {
    await withEngine(async test => {
      const { engine, account, dataDir } = test
      const { cid } = (await engine.pins.upload(pseudoRandom(50_000, 'aside'), { account })).record
      await damageOne(dataDir)
      const told: string[] = []
      engine.events.on('block:damaged', ({ reason }) => told.push(reason))
      expect(await round(test)).toMatchObject({ blocks: 1, damaged: 1 })
      expect(told.length).toBeGreaterThan(0)
      expect((await quarantined(dataDir)).length).toBe(1)
      expect(await filesIn(join(dataDir, 'blocks'))).toEqual([])
      expect((await engine.pins.status({ account, cid }))[0]?.record.status).toBe('pinned')
      expect((await engine.verify()).damaged.length).toBe(1)
      await engine.pins.upload(pseudoRandom(50_000, 'aside'), { account })
      expect((await engine.verify()).damaged).toEqual([])
    })
  })

  test('quarantines damaged rows, at most a hundred files in all', async () => {
    await withEngine(async test => {
      const { engine, account, dataDir } = test
      for (let i = 0; i < 103; i++) await engine.pins.upload(pseudoRandom(50, `row ${i}`), { account })
      withDatabase(dataDir, db => db.prepare("UPDATE small_blocks SET bytes = x'00'").run())
      expect(await round(test)).toMatchObject({ blocks: 103, damaged: 103 })
      expect((await quarantined(dataDir)).length).toBe(100)
      expect((await engine.verify()).damaged.length).toBe(103)
    })
  })

  test('heals from another cluster with the same content', async () => {
    await withClusters(async test => {
      const { engine, account, farDir } = test
      const content = pseudoRandom(50_000, 'in both')
      await engine.pins.upload(content, { account, cluster: 'near' })
      await engine.pins.upload(content, { account, cluster: 'far' })
      await damageOne(farDir)
      expect(await round(test)).toMatchObject({ damaged: 1 })
      expect((await engine.verify()).damaged).toEqual([])
      expect((await quarantined(farDir)).length).toBe(1)
    })
  })

  test('heals from the network by fetching the pin again', () =>
    withNet(async net => {
      const dag = randomFile(4, 300_000, 'scheduled')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { engine, account, dataDir } = node
      const cid = dag.root.toString()
      await engine.pins.pin({ account, cid })
      const [file = ''] = await filesIn(join(dataDir, 'blocks'))
      await rm(join(dataDir, 'blocks', file))
      await round(node)
      const statusNow = async () => {
        const status = (await engine.pins.status({ account, cid }))[0]?.record.status
        // The advanced clock may have ended the first attempt.
        if (status === 'failed') node.clock.advance(61_000)
        return status
      }
      await expect.poll(statusNow).toBe('pinned')
      expect(node.changes).toContain('pinned>pinning')
      expect((await engine.verify()).damaged).toEqual([])
    }))
})
