import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { findStrays, removeAll } from '../inspection.ts'
import { checkCopies } from './copy-places.ts'
import type { TorturedFleet } from './tortured-fleet.ts'

/** Collections after which everything removed must be gone. */
const COLLECTIONS = 200
const TABLES = [
  'records',
  'holds',
  'roots',
  'root_files',
  'roots_gone',
  'fetches',
  'removals',
  'placements',
  'copies',
] as const
/** Rows of nodes that have ended, and work that has not. */
const LEFT_OVER = `
  SELECT 'hold ' || h.id AS what FROM holds h JOIN nodes n ON n.name = h.node WHERE n.state <> 'active'
  UNION ALL SELECT 'root ' || r.id FROM roots r JOIN nodes n ON n.number = r.backend_id / 65536 WHERE n.state <> 'active'
  UNION ALL SELECT 'placement ' || p.id FROM placements p JOIN nodes n ON n.number = p.backend_id / 65536
    WHERE n.state <> 'active'
  UNION ALL SELECT 'fetch ' || f.id FROM fetches f JOIN nodes n ON n.name = f.node WHERE n.state <> 'active'
  UNION ALL SELECT 'copy ' || c.id FROM copies c JOIN nodes n ON n.name = c.node WHERE n.state <> 'active'
  UNION ALL SELECT 'node ' || id FROM nodes WHERE state IN ('retiring', 'forgetting')
  UNION ALL SELECT 'offer of ' || node FROM offers`

/**
 * Checks all nodes: every hold belongs to a record, counts agree, no block is damaged, each node has what it should
 * hold.
 */
export async function inspectNodes(fleet: TorturedFleet): Promise<void> {
  // Interrupted uploads count as abandoned after an hour.
  await fleet.ask("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour' WHERE state = 'placing'")
  for (const id of fleet.ids) {
    const { client } = fleet.node(id)
    const looked = await client.json<{ found: Record<string, number> }>('POST', '/admin/v1/reconcile', { dryRun: true })
    const { 'hold-unwanted': _, 'root-unwanted': __, 'file-unknown': ___, ...wrong } = looked.json.found
    assert.deepEqual(wrong, {}, `node ${id}: records and holds do not agree`)
    assert.equal((await client.json('POST', '/admin/v1/reconcile', { force: true })).status, 200)
    const verified = await client.json<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
    assert.deepEqual([verified.status, verified.json.damaged], [200, []], `node ${id}: blocks are damaged`)
  }
  for (const id of fleet.ids) {
    const { client } = fleet.node(id)
    const again = await client.json<{ found: object }>('POST', '/admin/v1/reconcile', { dryRun: true })
    assert.deepEqual(again.json.found, {}, `node ${id}: a difference is left after the repair`)
    await findStrays(fleet.node(id), fleet.directory(id))
  }
  await inspectDatabase(fleet)
  if (fleet.copies > 1) await checkCopies(fleet)
}

/** Checks that each hold has a record, a copy or a fetch, and that the usage of each account is exact. */
async function inspectDatabase(fleet: TorturedFleet): Promise<void> {
  const left = await fleet.ask<{ count: string }>(
    `SELECT COUNT(*) AS count FROM holds h WHERE state <> 'used'
       OR NOT EXISTS (SELECT 1 FROM records r WHERE r.hold_id = h.id) AND NOT EXISTS (SELECT 1 FROM fetches f WHERE f.hold_id = h.id)
       AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.hold_id = h.id)`,
  )
  assert.equal(left[0]?.count, '0', 'holds are left that no record uses')
  assert.deepEqual(await fleet.ask(LEFT_OVER), [], 'something of a node that has ended is left')
  const wrong = await fleet.ask(
    `SELECT id FROM accounts a WHERE (pins, expiring_pins, stored_bytes) <> (
       SELECT COUNT(*), COUNT(expires_at), (SELECT COALESCE(SUM(charge), 0) FROM (
         SELECT DISTINCT ON (multihash, codec) charge FROM records
         WHERE account_id = a.id AND root_id IS NOT NULL) AS stored)
       FROM records WHERE account_id = a.id)`,
  )
  assert.deepEqual(wrong, [], 'the usage of accounts is wrong')
}

/** Removes all records through one node and checks that nothing is left on any. */
export async function checkEmptied(fleet: TorturedFleet): Promise<void> {
  for (const tenant of fleet.tenants) await removeAll(fleet.clientOf(tenant))
  for (const id of fleet.ids) {
    for (let i = 0; i < COLLECTIONS; i++) {
      await fleet.node(id).client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })
      const { blocks, roots } = await storeSizes(fleet.directory(id))
      if (blocks + roots === 0) break
      await sleep(20)
    }
    await fleet.node(id).stop()
    assert.deepEqual(
      await storeSizes(fleet.directory(id)),
      EMPTY,
      `node ${id}: something is left after all was removed`,
    )
  }
  for (const table of TABLES) {
    const [row] = await fleet.ask<{ count: string }>(`SELECT COUNT(*) AS count FROM ${table}`)
    assert.equal(row?.count, '0', `rows of ${table} are left after all was removed`)
  }
  const usage = await fleet.ask(
    'SELECT pins::int, stored_bytes::int AS bytes FROM accounts WHERE pins <> 0 OR stored_bytes <> 0',
  )
  assert.deepEqual(usage, [], 'accounts have usage after all was removed')
}
