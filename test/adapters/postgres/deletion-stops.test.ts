import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { SetBack } from '../../../src/catalogue/offers.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { DeletionStop } from '../../../src/pins/deletion-stop.ts'
import { commit, dagOf, NO_LIMITS, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { databaseOfTwoNodes } from './opened-database.ts'

const SET_BACK: SetBack = { id: 'the set-back', problem: 'restored' }
const HERE = new Map([['near', 0]])
const { charge } = SIZES
const LIMITS = { ...NO_LIMITS, maxStorageBytes: 5 * charge }

describe('a stop of deletion on one of two nodes', needsPostgres, () => {
  let database: Postgres
  databaseOfTwoNodes(opened => {
    database = opened
  })

  const bothNodes = (run: (here: TestNode, there: TestNode) => Promise<void>) =>
    withNode(database, 'here', here => withNode(database, 'there', there => run(here, there), 1))
  /** Starts the stop of deletion of a node, as each start of the node does. */
  const started = async ({ stops, offers }: TestNode): Promise<DeletionStop> => {
    let isHeld = false
    const collector = {
      collect: async () => ({ roots: 0, blocks: 0, bytes: 0 }),
      hold: async () => {
        isHeld = true
        return () => {
          isHeld = false
        }
      },
      get isHeld() {
        return isHeld
      },
    }
    const isSetBack = async () => (await offers.pending()) !== null
    const stop = new DeletionStop({ stops, collector: collector as never, isSetBack, logger: silentLogger })
    await stop.start()
    return stop
  }
  const roomOf = async (stop: DeletionStop, account = 'one') =>
    ((await stop.lowered(account, LIMITS)).maxStorageBytes ?? 0) / charge
  /** Removes a record, and keeps its content for an undo. */
  const keep = async ({ bulk }: TestNode, id: string): Promise<void> => {
    const change = { accountId: 'one', action: 'delete' as const, selection: '', total: 1, undoMs: 100, createdAt: NOW }
    const made = await bulk.add({ ...change, name: `job of ${id}` })
    await bulk.remove({ id: made.id, place: '', next: null, ids: [id], now: NOW, isListed: true })
  }

  test('counts released and kept bytes after a set-back, across restarts', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('a'), record('b', { dag: dagOf('b') }), record('c', { dag: dagOf('c') })])
      await commit(there, [record('d', { dag: dagOf('d') })])
      await here.records.discard('a')
      await database.command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ($1, $2, 'here')", [
        SET_BACK.id,
        SET_BACK.problem,
      ])
      await here.records.discard('b')
      await keep(here, 'c')
      await there.records.discard('d')
      for (let restart = 0; restart < 3; restart++) {
        const [atHere, atThere] = [await started(here), await started(there)]
        // Each node counts its own released content, and the kept content of all.
        expect([await roomOf(atHere), await roomOf(atThere), await roomOf(atHere, 'two')]).toEqual([3, 3, 5])
      }
      const stop = await started(here)
      for (let isDone = false; !isDone; ) {
        isDone = (await here.offers.walk({ setBack: SET_BACK, homes: HERE, limit: 1, now: NOW })).isDone
      }
      await stop.offered()
      expect([await roomOf(stop), await here.stops.undeletedBytes('one')]).toEqual([5, charge])
      expect(await roomOf(await started(there))).toBe(3)
    })
  })

  test('counts only what the node of a backup has released', async () => {
    await bothNodes(async (here, there) => {
      const [atHere, atThere] = [await started(here), await started(there)]
      await commit(here, [record('a'), record('b', { dag: dagOf('b') })])
      await commit(there, [record('c', { dag: dagOf('c') })])
      const release = await atHere.hold()
      await here.records.discard('a')
      await there.records.discard('c')
      await keep(here, 'b')
      expect([await roomOf(atHere), await roomOf(atThere), await roomOf(atHere, 'two')]).toEqual([3, 5, 5])
      // A start of another node ends no stop of this one.
      await started(there)
      expect(await roomOf(atHere)).toBe(3)
      await release()
      expect([await roomOf(atHere), await here.stops.undeletedBytes('one')]).toEqual([5, charge])
    })
  })
})
