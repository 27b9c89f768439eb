import { describe, expect, test, vi } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { SharedHolds } from '../../../adapters/postgres/holds/shared-holds.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import { commit, NO_LIMITS, NOW, record } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('records of one node that a job on another node removes', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  test('lose their readers, keep their content, and get both back', async () => {
    await withNode(database, 'here', async here => {
      const { work } = postgresContent(database, here.ledger, { name: 'here', number: 0 })
      await commit(here, [record('r1', { expiresAt: NOW + 500 })])
      expect(liveUntil(here)).toEqual([NOW + 500])
      await withNode(
        database,
        'there',
        async there => {
          const selection = JSON.stringify(['r1'])
          const change = { name: 'job', accountId: 'one', action: 'delete' as const, selection, undoMs: 100 }
          const { id } = await there.bulk.add({ ...change, total: 1, createdAt: NOW })
          const step = { id, place: '', next: null, ids: ['r1'], now: NOW, isListed: true }
          expect(await there.bulk.remove(step)).toHaveLength(1)
          await work.dropReleased()
          expect(liveUntil(here)).toEqual([0])
          const { unwanted } = await here.reconciliation.holds({ after: '', limit: 10, mend: true })
          expect([unwanted, liveUntil(here)]).toEqual([[], [0]])
          await there.bulk.undo({ accountId: 'one', name: 'job', limits: NO_LIMITS, now: NOW })
          expect(await there.bulk.restore({ ...step, limits: NO_LIMITS })).toHaveLength(1)
          await work.dropReleased()
          expect(liveUntil(here)).toEqual([NOW + 500])
          await here.records.discard('r1')
          expect(liveUntil(here)).toEqual([])
        },
        1,
      )
    })
  })

  test('serve nobody after they become private, though a set-back delays the release', async () => {
    await withNode(database, 'here', async here => {
      await commit(here, [record('r1')])
      await database.command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('1', 'p', 'n')")
      await here.records.setOwner({ accountId: 'one', id: 'r1', owner: 77, now: NOW })
      // The former root stays in the ledger, but is over.
      expect(liveUntil(here)).toEqual([0, null])
    })
  })

  test('stay unreadable if they are removed while their node stores an end', async () => {
    await withNode(database, 'here', async here => {
      const { work } = postgresContent(database, here.ledger, { name: 'here', number: 0 })
      const there = new SharedHolds(database, here.ledger, 'there', id => id)
      await commit(here, [record('r1')])
      const ids = [await here.holdOf('r1')]
      await database.transaction(sql => there.unmute(sql, ids, NOW + 500))
      const setEnds = here.ledger.setEnds.bind(here.ledger)
      vi.spyOn(here.ledger, 'setEnds').mockImplementationOnce(async ends => {
        await setEnds(ends)
        await database.transaction(sql => there.mute(sql, ids))
      })
      await work.dropReleased()
      expect(liveUntil(here)).toEqual([NOW + 500])
      await work.dropReleased()
      expect(liveUntil(here)).toEqual([0])
    })
  })
})

/** Returns the times until which the complete roots of a node may be read. */
function liveUntil({ db }: TestNode): Array<number | null> {
  const found = db.prepare<[], { at: number | null }>("SELECT live_until AS at FROM roots WHERE state = 'complete'")
  return found.all().map(({ at }) => at)
}
