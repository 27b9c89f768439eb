import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createTestEngine, TestClock } from '../../src/testing/index.ts'
import { EMPTY, storeSizes, withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

const CHILD = join(import.meta.dirname, '../support/killed-engine.ts')
const HOUR_MS = 3_600_000

function count(dataDir: string, table: 'accounts' | 'withheld' | 'removed_records'): number {
  const sql = `SELECT count(*) AS count FROM ${table}`
  return withDatabase(dataDir, db => db.prepare<[], { count: number }>(sql).get())?.count ?? Number.NaN
}

describe('an engine whose process was killed', () => {
  test('removes expired and deleted content without a call', async () => {
    await withTempDir(async dataDir => {
      const killed = await promisify(execFile)(process.execPath, [CHILD, dataDir]).catch((error: unknown) => error)
      const { stdout, signal } = killed as { stdout: string; signal?: string }
      expect(signal).toBe('SIGKILL')
      expect(count(dataDir, 'accounts')).toBe(2)
      const clock = new TestClock(Number(stdout) + HOUR_MS)
      const gc = { graceSeconds: 0, intervalSeconds: 1 }
      await using _engine = await createTestEngine({
        dataDir,
        clock,
        gc,
        bulk: { undoSeconds: 3_600 }, // feature: bulk
      })
      const sizes = (): ReturnType<typeof storeSizes> => {
        clock.advance(60_000)
        return storeSizes(dataDir)
      }
      await expect.poll(sizes).toEqual(EMPTY)
      expect([count(dataDir, 'accounts'), count(dataDir, 'removed_records')]).toEqual([1, 0])
    })
  })
})

describe('a round of verification that was interrupted', () => {
  test('finishes at its start, without a call', async () => {
    await withEngine(async ({ engine, account, dataDir, clock, restart }) => {
      for (let i = 0; i < 20; i++) await engine.pins.upload(`block ${i}`, { account })
      await engine.stop()
      withDatabase(dataDir, db => db.prepare('UPDATE verification SET last_block = 1, blocks = 1').run())
      const next = await restart()
      const isRunning = async (): Promise<boolean> => {
        clock.advance(60_000)
        return (await next.stats()).verification.isRunning
      }
      await expect.poll(isRunning, { interval: 1 }).toBe(false)
      expect((await next.stats()).verification.blocks).toBe(20)
    })
  })
})

test('takedowns whose file is gone are lifted at the next start', async () => {
  await withEngine(async ({ engine, account, dataDir, restart }) => {
    const { record } = await engine.pins.upload('content', { account })
    await engine.takedowns.add({ cid: record.cid, reason: 'by mistake' })
    await engine.stop()
    expect(count(dataDir, 'withheld')).toBe(1)
    await rm(join(dataDir, 'takedowns.deny'))
    await restart()
    expect(count(dataDir, 'withheld')).toBe(0)
  })
})

test('takedowns apply after a restart, before anybody reads', async () => {
  await withEngine(async ({ engine, account, restart }) => {
    const { record } = await engine.pins.upload('content', { account })
    await engine.takedowns.add({ cid: record.cid, reason: 'unlawful' })
    const next = await restart()
    expect((await next.takedowns.page({ after: null, limit: 10 })).rows).toMatchObject([{ cid: record.cid }])
    await expect(next.content.stat({ cid: record.cid })).rejects.toMatchObject({ code: 'GONE' })
  })
})

describe('a call that loads its code, on a stopped engine', () => {
  test.each(['backup', 'verify', 'reconcile'] as const)('%s is refused', async name => {
    await withEngine(async ({ engine }) => {
      await engine.stop()
      await expect(engine[name]('/nowhere' as never)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    })
  })
})
