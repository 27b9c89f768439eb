import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import type { SharedContent } from '../../../src/catalogue/shared-catalogue.ts'
import { commit, NO_LIMITS, record } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const HOUR = 3_600_000

describe('a node whose clock is a day ahead of the database', needsPostgres, () => {
  const today = Date.now()
  const ahead = today + 24 * HOUR
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  /** Runs with a node that has two records: one expired an hour ago, the other expires in an hour. */
  const filled = (run: (node: TestNode) => Promise<void>): Promise<void> =>
    withNode(database, 'here', async node => {
      const ends = { late: today - HOUR, early: today + HOUR }
      const made = Object.entries(ends).map(([name, expiresAt]) =>
        record(name, { expiresAt, createdAt: today - 2 * HOUR }),
      )
      await commit(node, made)
      await run(node)
    })
  /** Starts a job of the given time that deletes the record `early`, with an undo period. */
  const deleted = async ({ bulk }: SharedContent, { undoMs, now }: { undoMs: number; now: number }) => {
    const change = {
      name: 'job',
      accountId: 'one',
      action: 'delete' as const,
      selection: '["early"]',
      undoMs,
      total: 1,
    }
    const { id } = await bulk.add({ ...change, createdAt: now })
    const step = { id, place: '', next: null, ids: ['early'], now, isListed: true }
    expect(await bulk.remove(step)).toHaveLength(1)
    return step
  }

  test('removes no record before its timelock ends', async () => {
    await filled(async ({ records }) => {
      expect((await records.expire(ahead, 10)).map(({ id }) => id)).toEqual(['late'])
      expect(await records.get('early')).toBeDefined()
    })
  })

  test('begins no job and keeps removed records until their undo period ends', async () => {
    await filled(async node => {
      const { id } = await deleted(node, { undoMs: 10 * 60_000, now: today })
      const query = { now: ahead, after: '', accounts: 10, each: 10 }
      expect((await node.bulk.due(query)).jobs).toEqual([])
      expect(await node.bulk.purge(id, ahead)).toBe(false)
      expect(await node.bulk.removed(id, '', 10)).toHaveLength(1)
    })
  })

  test('restores a record whose timelock has not ended', async () => {
    await filled(async node => {
      const step = await deleted(node, { undoMs: 10 * 60_000, now: today })
      await node.bulk.undo({ accountId: 'one', name: 'job', limits: NO_LIMITS, now: today })
      expect(await node.bulk.restore({ ...step, now: ahead, limits: NO_LIMITS })).toHaveLength(1)
    })
  })

  test('follows its own clock if a host program sets it', async () => {
    await filled(async ({ ledger }) => {
      const own = { name: 'here', number: 0, clock: new ManualClock(ahead) }
      const { records } = postgresContent(database, ledger, own).content
      expect(await records.expire(ahead, 10)).toHaveLength(2)
    })
  })
})
