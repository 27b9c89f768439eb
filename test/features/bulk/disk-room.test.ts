import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { needs } from '../../support/needs.ts'
import { newDirectory } from '../../support/new-database.ts'
import { canMount, withSmallDisk } from '../../support/small-disk.ts'

const MIB = 1024 ** 2
const QUOTA = 3 * MIB
const ROUNDS = 20

async function withDisk(run: (engine: Engine, account: (email: string) => Promise<string>) => Promise<void>) {
  await withSmallDisk('32m', async disk => {
    const plans = { small: { timelock: true, clusters: '*', maxStorageBytes: QUOTA } } as const
    const gc = { graceSeconds: 3_600, intervalSeconds: 3_600 }
    const engine = await createEngine({
      dataDir: newDirectory(join(disk, 'data')),
      plans,
      gc,
      bulk: { undoSeconds: 600 },
    })
    try {
      await run(engine, async email => (await engine.accounts.create({ email, plan: 'small' })).id)
    } finally {
      await engine.stop()
    }
  })
}

describe('a small disk', needs(canMount, 'this user may not mount a small disk'), () => {
  test('keeps room for others while an account uploads and deletes', { timeout: 120_000 }, async () => {
    await withDisk(async (engine, accountOf) => {
      const [one, two, other] = [await accountOf('one@x.org'), await accountOf('two@x.org'), await accountOf('o@x.org')]
      const ended: string[] = []
      engine.events.on('undo:ended', ({ reason, account }) => ended.push(`${reason} ${account}`))
      for (let round = 0; round < ROUNDS; round++) {
        for (const account of [one, two]) {
          const { record } = await engine.pins.upload(pseudoRandom(2.5 * MIB, `${account} ${round}`), { account })
          // Each way of releasing content fills the disk alike.
          if (round % 2 === 0) await engine.pins.remove(record.cid, { account })
          else {
            const { id } = await engine.jobs.start({ account, action: 'delete', ids: [record.uploadId] })
            await engine.jobs.untilEnded(id, { account })
          }
        }
        const { record } = await engine.pins.upload(pseudoRandom(100_000, round), { account: other })
        expect(record.status).toBe('pinned')
      }
      expect((await engine.pins.usage(other)).pins).toBe(ROUNDS)
      expect(ended).toContain(`quota ${one}`)
    })
  })

  test('ends the undo periods of those that keep most, first', { timeout: 120_000 }, async () => {
    await withDisk(async (engine, accountOf) => {
      const deleted = async (account: string, size: number) => {
        const { record } = await engine.pins.upload(pseudoRandom(size, `${account} ${size}`), { account })
        const { id } = await engine.jobs.start({ account, action: 'delete', ids: [record.uploadId] })
        return engine.jobs.untilEnded(id, { account })
      }
      const little = await accountOf('little@x.org')
      const kept = await deleted(little, 50_000)
      const much: string[] = []
      for (let i = 0; i < 8; i++) {
        much.push(await accountOf(`much${i}@x.org`))
        await deleted(much[i] ?? '', 2.5 * MIB)
      }
      const ended = engine.events.once('undo:ended')
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        const account = await accountOf(`${name}@x.org`)
        await engine.pins.upload(pseudoRandom(2.5 * MIB, name), { account })
      }
      expect(await ended).toMatchObject({ account: much[0], reason: 'disk' })
      expect((await engine.jobs.get(kept.id, { account: little })).undoEnded).toBe(null)
    })
  })

  test('gets room back from ended undo periods and deleted accounts', async () => {
    await withDisk(async (engine, accountOf) => {
      const account = await accountOf('one@x.org')
      const deletes = async (seed: string) => {
        const { record } = await engine.pins.upload(pseudoRandom(MIB, seed), { account })
        const { id } = await engine.jobs.start({ account, action: 'delete', ids: [record.uploadId] })
        return engine.jobs.untilEnded(id, { account })
      }
      const job = await deletes('a')
      expect(await engine.collect({ graceSeconds: 0 })).toMatchObject({ blocks: 0, keptBytes: expect.any(Number) })
      expect((await engine.pins.usage(account)).keptBytes).toBeGreaterThan(MIB - 1)
      const freed = await engine.collect({ graceSeconds: 0, endUndo: true })
      expect([freed.blocks > 0, freed.keptBytes]).toEqual([true, 0])
      expect((await engine.jobs.get(job.id, { account })).undoEnded).toBe('owner')
      await deletes('b')
      await engine.accounts.delete(account)
      const freedBlocks = async () => (await engine.collect({ graceSeconds: 0 })).blocks
      await expect.poll(freedBlocks, { timeout: 60_000 }).toBeGreaterThan(0)
    })
  })
})
