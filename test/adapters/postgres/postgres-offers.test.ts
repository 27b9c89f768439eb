import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { SetBack } from '../../../src/catalogue/offers.ts'
import { commit, DAG, dagOf, NO_LIMITS, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { rootsIn, whole } from '../../catalogue/whole-reconciliation.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { databaseOfTwoNodes } from './opened-database.ts'

const SET_BACK: SetBack = { id: 'the set-back', problem: 'restored' }
const HERE = new Map([['near', 0]])
const THERE = new Map([['there', 0]])

describe('nodes on a database that was set back', needsPostgres, () => {
  let database: Postgres
  databaseOfTwoNodes(opened => {
    database = opened
  })

  const setBack = () =>
    database.command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ($1, $2, 'here')", [
      SET_BACK.id,
      SET_BACK.problem,
    ])
  /** Walks in steps of one record. */
  const walked = async ({ offers }: TestNode, homes: ReadonlyMap<string, number>): Promise<void> => {
    for (let isDone = false; !isDone; ) {
      isDone = (await offers.walk({ setBack: SET_BACK, homes, limit: 1, now: NOW })).isDone
    }
  }
  const found = async ({ reconciliation }: TestNode, homes: ReadonlyMap<string, number>) => {
    const step = { after: '', limit: 100, homes, now: NOW, mend: false }
    return (await whole(reconciliation).records(step)).findings.map(({ kind, record: id }) => [kind, id])
  }
  const opened = async ({ offers }: TestNode) => (await offers.open({ homes: HERE, after: null, limit: 99 })).offers
  const takeAll = async (node: TestNode): Promise<void> => {
    await node.offers.assign()
    for (const offer of await opened(node)) {
      await node.offers.take(offer, { backendId: 0, brought: null, now: NOW })
    }
  }
  const holderOf = async (id: string) => {
    const text = 'SELECT node FROM holds WHERE id = (SELECT hold_id FROM records WHERE id = $1)'
    return (await database.reading.first<{ node: string }>(text, [id]))?.node
  }
  const roots = ({ ledger }: TestNode): number => rootsIn(ledger).length
  const countOf = async (table: string): Promise<number> =>
    (await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))?.count ?? 0
  const bothNodes = (run: (here: TestNode, there: TestNode) => Promise<void>) =>
    withNode(database, 'here', here => withNode(database, 'there', there => run(here, there), 1))

  test('a removal releases nothing before the node has offered its content', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('restored'), record('other')])
      // The ledger has released the hold of a record that the restored state has again.
      await node.unhold('restored')
      await setBack()
      await node.records.discard('other')
      await node.records.finishRemovals()
      expect([await found(node, HERE), roots(node)]).toEqual([[['record-unheld', 'restored']], 1])
      expect(await node.offers.pending()).toEqual(SET_BACK)
      await walked(node, HERE)
      expect(await node.offers.pending()).toBeNull()
      await node.records.finishRemovals()
      expect([await found(node, HERE), roots(node), await countOf('holds')]).toEqual([[], 1, 1])
    })
  })

  test('names each node that has not offered its content', async () => {
    await bothNodes(async (here, there) => {
      expect(await here.offers.waitsFor()).toEqual([])
      await setBack()
      expect(await here.offers.waitsFor()).toEqual(['here', 'there'])
      await walked(here, HERE)
      expect([await here.offers.waitsFor(), await there.offers.waitsFor()]).toEqual([['there'], ['there']])
      await walked(there, THERE)
      expect(await here.offers.waitsFor()).toEqual([])
    })
  })

  test('a node takes content that another node offers', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('lost')])
      await commit(there, [record('newer', { clusterId: 'there' })])
      await here.unhold('lost')
      await here.ledger.drop([here.ledger.find(0, DAG, 0)?.id ?? 0])
      await there.records.discard('newer')
      const [hold] = await placedBy(there)
      await setBack()
      expect(await found(here, HERE)).toEqual([['record-lost', 'lost']])
      await walked(here, HERE)
      await walked(there, THERE)
      expect(await found(here, HERE)).toEqual([])
      // The hold of the offer keeps the content after the lost record has none.
      await whole(there.reconciliation).holds({ after: '', limit: 100, mend: true })
      expect([there.ledger.rootOf(hold ?? ''), roots(there)]).toEqual([null, 1])

      const [offer] = await opened(here)
      expect(offer).toMatchObject({ recordId: 'lost', nodeId: 'there' })
      if (offer === undefined) throw new Error('nothing is offered')
      await here.offers.take(offer, { backendId: 0, brought: null, now: NOW })
      expect(await countOf('offers')).toBe(1)
      const stagedRootId = await here.stage(0)
      const brought = { stagedRootId, dag: { ...DAG, ...SIZES } }
      expect(await here.offers.take(offer, { backendId: 0, brought, now: NOW })).toEqual({ isEnded: true, changes: [] })
      await there.records.finishRemovals()
      expect([await found(here, HERE), roots(here), roots(there)]).toEqual([[], 1, 0])
      expect([await countOf('holds'), await countOf('offers'), await countOf('roots')]).toEqual([1, 0, 1])
    })
  })

  test('an offer ends if its record is gone', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { clusterId: 'there' })])
      await setBack()
      await walked(there, THERE)
      expect(await countOf('offers')).toBe(1)
      await here.records.discard('r1')
      await there.records.finishRemovals()
      expect([await countOf('offers'), roots(there)]).toEqual([0, 1])
    })
  })

  test('a record that waits gets content that its node has', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('newer', { dag: dagOf('w') })])
      const waiting = record('waiting', { dag: dagOf('w'), accountId: 'two', status: 'queued' })
      await node.records.discard('newer')
      const [hold] = await placedBy(node, dagOf('w'))
      await node.fetches.request({ record: waiting, owner: 0, backendId: 0, origins: [], limits: LIMITS, now: NOW })
      await setBack()
      await walked(node, HERE)
      expect(await node.records.get('waiting')).toMatchObject({ status: 'pinned', fetchId: null })
      await whole(node.reconciliation).holds({ after: '', limit: 100, mend: true })
      expect([node.ledger.rootOf(hold ?? ''), await found(node, HERE), roots(node)]).toEqual([null, [], 1])
    })
  })

  test('webhooks send each record that becomes complete', async () => {
    await withNode(database, 'here', async node => {
      const ids = Array.from({ length: 12 }, (_, i) => `lost ${i}`)
      await commit(node, [record('whole')])
      for (const id of ids) await commit(node, [record(id, { accountId: 'two', name: id })])
      await database.command(
        `UPDATE records SET status = 'failed', lost_with = 'c', root_id = NULL, hold_id = NULL WHERE account_id = 'two'`,
      )
      await database.command(
        `INSERT INTO webhooks (id, account_id, url, secret, created_at, waiting) VALUES ('w', 'two', '', '', 0, 795)`,
      )
      await setBack()
      await walked(node, HERE)
      const pinned = async (): Promise<number> =>
        await countOf("records WHERE account_id = 'two' AND status = 'pinned'")
      expect([await pinned(), await countOf('offers'), await node.offers.pending()]).toEqual([5, 7, null])
      await takeAll(node)
      expect([await pinned(), await countOf('offers')]).toEqual([5, 7])
      await database.command('UPDATE webhooks SET waiting = 0')
      await takeAll(node)
      expect([await pinned(), await countOf('offers'), await countOf('webhooks WHERE dropped > 0')]).toEqual([12, 0, 0])
    })
  })

  test('a walk for a newer set-back starts again and withdraws former offers', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('r1')])
      await commit(there, [record('r2', { clusterId: 'there' })])
      await setBack()
      await walked(there, THERE)
      expect(await countOf('offers')).toBe(1)
      await database.command("INSERT INTO set_backs (id, problem, noticed_by) VALUES ('next', 'again', 'there')")
      expect(await there.offers.pending()).toEqual({ id: 'next', problem: 'again' })
      const step = { setBack: { id: 'next', problem: 'again' }, homes: THERE, limit: 9, now: NOW }
      // A walk for the former set-back does not end.
      for (let i = 0; i < 3; i++) expect((await there.offers.walk({ ...step, setBack: SET_BACK })).isDone).toBe(false)
      await database.command('UPDATE nodes SET offer_place = NULL')
      await there.records.discard('r2')
      await there.offers.walk(step)
      expect(await countOf('offers')).toBe(0)
      for (let isDone = false; !isDone; ) isDone = (await there.offers.walk(step)).isDone
      await there.records.finishRemovals()
      expect([await there.offers.pending(), await countOf('offers'), roots(there)]).toEqual([null, 1, 1])
    })
  })

  test('a record stays on the node of its hold, whatever its cluster', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('r1', { clusterId: 'old' }), record('r2', { clusterId: 'there', dag: dagOf('b') })])
      await setBack()
      await walked(here, HERE)
      await walked(there, THERE)
      expect([await countOf('offers'), await found(here, HERE), roots(here)]).toEqual([0, [], 2])
      await here.unhold('r1')
      await database.command('UPDATE nodes SET offered = NULL')
      await walked(here, HERE)
      expect([await countOf('offers'), await holderOf('r1'), roots(here)]).toEqual([0, 'here', 2])
    })
  })

  test('content of a cluster that no node keeps stays', async () => {
    await bothNodes(async (here, there) => {
      const other = dagOf('b')
      await commit(here, [record('r1', { clusterId: 'old' }), record('r2', { clusterId: 'old', dag: other })])
      await commit(there, [record('r3', { clusterId: 'there' }), record('r4', { clusterId: 'there', dag: other })])
      await setBack()
      await walked(there, THERE)
      // The node of the records has the content, and may still prove it.
      expect([await countOf('offers'), await holderOf('r1')]).toEqual([2, 'here'])
      await database.command(`UPDATE nodes SET state = 'forgetting' WHERE name = 'here'`)
      await takeAll(there)
      expect([await countOf('offers'), await holderOf('r1'), await holderOf('r2')]).toEqual([0, 'there', 'there'])
      await there.records.discardAll(['r3', 'r4'])
      expect([roots(there), await found(there, THERE)]).toEqual([2, []])
      expect((await there.records.usage('one', NOW)).storedBytes).toBe(2 * SIZES.charge)
    })
  })

  test('an offer of an older node ends or is taken', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('r1'), record('r2', { dag: dagOf('b') })])
      await commit(there, [record('r3', { clusterId: 'there' }), record('r4', { clusterId: 'there', dag: dagOf('b') })])
      await setBack()
      await walked(there, THERE)
      // The version before names no node, and ends no offers with their records.
      await database.command('UPDATE offers SET taker = NULL')
      expect((await opened(here)).map(({ recordId }) => recordId)).toEqual(['r1', 'r2'])
      await database.command("DELETE FROM records WHERE id = 'r1'")
      await there.offers.assign()
      expect(await opened(here)).toMatchObject([{ recordId: 'r2', node: 'there', backendId: 0 }])
      expect(await countOf("offers WHERE taker = 'here'")).toBe(1)
      await takeAll(here)
      expect([await countOf('offers'), await holderOf('r2')]).toEqual([0, 'here'])
    })
  })

  test('an offer follows the end, removal and undo of its record', async () => {
    await bothNodes(async (here, there) => {
      await commit(here, [record('r1', { expiresAt: NOW + 500 })])
      await commit(there, [record('r2', { clusterId: 'there' })])
      await setBack()
      await walked(there, THERE)
      await there.records.discard('r2')
      expect(liveUntil(there)).toEqual([NOW + 500])
      const job = { accountId: 'one', selection: JSON.stringify(['r1']), undoMs: 100, total: 1, createdAt: NOW }
      const step = { place: '', next: null, ids: ['r1'], now: NOW, isListed: true }
      const edited = await here.bulk.add({ ...job, name: 'edit', action: 'timelock' })
      await here.bulk.edit({ ...step, id: edited.id, edit: { expiresAt: NOW + 900 } })
      await there.records.finishRemovals()
      expect(liveUntil(there)).toEqual([NOW + 900])

      const [open] = await opened(here)
      if (open === undefined) throw new Error('nothing is offered')
      const removed = await here.bulk.add({ ...job, name: 'delete', action: 'delete' })
      await here.bulk.remove({ ...step, id: removed.id })
      await here.offers.take(open, { backendId: 0, brought: null, now: NOW })
      await there.offers.assign()
      expect(await opened(here)).toEqual([])
      await there.records.finishRemovals()
      expect(liveUntil(there)).toEqual([0])
      await here.bulk.undo({ accountId: 'one', name: 'delete', limits: NO_LIMITS, now: NOW })
      await here.bulk.restore({ ...step, id: removed.id, limits: NO_LIMITS })
      await there.records.finishRemovals()
      expect([liveUntil(there), await countOf('offers')]).toEqual([[NOW + 900], 1])

      const again = await here.bulk.add({ ...job, name: 'again', action: 'delete' })
      await here.bulk.remove({ ...step, id: again.id })
      expect(await here.bulk.purge(again.id, NOW + 100)).toBe(true)
      await there.records.finishRemovals()
      expect([liveUntil(there), await countOf('offers')]).toEqual([[], 0])
    })
  })

  const LIMITS = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }

  /** Places a hold that the catalogue does not know, as one of a lost commit. */
  async function placedBy({ ledger, stage }: TestNode, dag = DAG): Promise<string[]> {
    const id = 'hold 999999'
    await ledger.place([{ id, backendId: 0, stagedRootId: await stage(0), dag: { ...dag, ...SIZES }, ends: null }])
    return [id]
  }
})

/** Returns the times until which the complete roots of a node may be read. */
function liveUntil({ db }: TestNode): Array<number | null> {
  const found = db.prepare<[], { at: number | null }>("SELECT live_until AS at FROM roots WHERE state = 'complete'")
  return found.all().map(({ at }) => at)
}
