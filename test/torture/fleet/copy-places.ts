import assert from 'node:assert/strict'
import { withDatabase } from '../../support/store-inspection.ts'
import { untilNone } from '../clusters/until.ts'
import type { Id, TorturedFleet } from './tortured-fleet.ts'

/** In ms. An attempt that failed is repeated after at most five minutes. */
const COPIES_MS = 400_000
/** Copies to make or to release. Those that an absence has made stay for a day. */
const UNSETTLED = `
  SELECT id FROM copies WHERE state IN ('wanted', 'damaged') OR state IN ('surplus', 'going') AND due_at < $1
  UNION ALL SELECT 0 FROM copy_absences
  UNION ALL SELECT 0 FROM copy_walk WHERE place IS NOT NULL OR NOT agreed`
const CONTENT = `encode(multihash, 'hex') || ' ' || codec || ' ' || owner`
const USED = "SELECT id FROM holds WHERE node = (SELECT name FROM nodes WHERE id = $1 AND state <> 'forgotten')"
const WANTED = `SELECT DISTINCT ${CONTENT} AS content, cid FROM records WHERE root_id IS NOT NULL`

/** Columns of a table with content: the key of the content. */
export const contentKey = CONTENT

/** Waits until each content has its copies, and no others. */
export async function settleCopies(fleet: TorturedFleet): Promise<void> {
  const left = async () => (await fleet.ask(UNSETTLED, [Date.now() + 3_600_000])).length
  await untilNone('all copies are made', left, COPIES_MS)
}

/** Checks that the ledgers have the holds of the catalogue, and that each content is on as many nodes as it should be. */
export async function checkCopies(fleet: TorturedFleet): Promise<void> {
  const places = new Map<string, number>()
  for (const id of fleet.ids) {
    const held = heldBy(fleet, id)
    const used = await fleet.ask<{ id: string }>(USED, [fleet.nameOf(id)])
    assert.deepEqual(
      [...held.keys()].sort(),
      used.map(hold => hold.id).sort(),
      `node ${id}: its ledger has other holds`,
    )
    for (const content of new Set(held.values())) places.set(content, 1 + (places.get(content) ?? 0))
  }
  for (const { content, cid } of await fleet.ask<{ content: string; cid: string }>(WANTED)) {
    const count = places.get(content) ?? 0
    assert.ok(count >= fleet.copies, `${cid} is on ${count} nodes`)
  }
}

/** Returns the contents that the ledgers of nodes have, by holds that the catalogue counts on. */
export async function contentsOn(fleet: TorturedFleet, ids: readonly Id[]): Promise<ReadonlySet<string>> {
  const contents = new Set<string>()
  for (const id of ids) {
    const held = heldBy(fleet, id)
    const used = await fleet.ask<{ id: string }>("SELECT id FROM holds WHERE state = 'used' AND id = ANY($1)", [
      [...held.keys()],
    ])
    for (const hold of used) contents.add(held.get(hold.id) ?? '')
  }
  return contents
}

/** Returns the contents of complete roots by their holds in the ledger of a node. */
function heldBy(fleet: TorturedFleet, id: Id): Map<string, string> {
  return withDatabase(fleet.directory(id), db => {
    const text = `SELECT holds.id, lower(hex(multihash)) || ' ' || codec || ' ' || owner AS content
      FROM holds JOIN roots ON roots.id = root_id WHERE state = 'complete'`
    const found = db.prepare<[], { id: string; content: string }>(text).all()
    return new Map(found.map(hold => [hold.id, hold.content]))
  })
}
