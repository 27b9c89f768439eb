import { describe, expect, test } from 'vitest'
import { ReachWalker } from '../../src/content/reach-walk.ts'
import { Withholding } from '../../src/content/withholding.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { Denylist } from '../../src/gateway/policy/denylist.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { PUBLIC } from '../../src/ledger/possessor.ts'
import { RootOwners } from '../../src/ledger/root-owners.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { leaf } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, withContentParts } from '../support/content-parts.ts'

const COUNT = 10_000
const shared = leaf(pseudoRandom(200, 'a shared block'))
const multihash = shared.root.multihash.bytes

/** Stores the shared block below many public roots, each with a hold `hold <number>`. */
async function storeMany(parts: ContentParts): Promise<void> {
  const { ledger, database } = parts
  const staged = await parts.stage()
  for (const { cid, bytes } of shared.blocks) await staged.put(cid, bytes)
  await staged.settle()
  const dag = { codec: shared.root.code, multihash, owner: PUBLIC, ...staged.sizes(staged.dagSize) }
  await ledger.keep('first', { backendId: 0, stagedRootId: staged.rootId, dag, ends: null })
  for (const text of [
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${COUNT})
     INSERT INTO roots (id, backend_id, state, codec, multihash, created_at, blocks)
     SELECT 1000 + i, 0, 'complete', 112, CAST(X'1220' || randomblob(32) AS BLOB), 0, 1 FROM n`,
    `INSERT INTO holds (id, root_id, ends) SELECT 'hold ' || id, id, ${Number.MAX_SAFE_INTEGER} FROM roots WHERE id > 1000`,
    'INSERT INTO root_blocks (root_id, block_id) SELECT roots.id, blocks.id FROM roots, blocks WHERE roots.id > 1000',
  ]) {
    database.prepare(text).run()
  }
}

function hideMany(parts: ContentParts): void {
  const { database, roots } = parts
  const owners = new RootOwners(database, { roots, holds: new Holds(database, roots), queue: new WriteQueue(database) })
  database.transaction(() => {
    for (let id = 1_001; id <= 1_000 + COUNT; id++) expect(owners.give(`hold ${id}`, 1_000_000 + id)).toBe(id)
  })
}

const open = ({ held, clock }: ContentParts) => held.open(multihash, clock.now())
const withholdingOf = ({ withheld: table, reach: walks, store, clock }: ContentParts) =>
  new Withholding({ table, walks, walker: new ReachWalker(walks, () => store), clock, logger: silentLogger })

describe('a block below 10,000 roots that have become private', () => {
  test('is served by a public root, and 503 while hints are stale', { timeout: 120_000 }, () =>
    withContentParts(async parts => {
      await storeMany(parts)
      hideMany(parts)
      // The oldest root is public, so a read passes no stale row.
      expect(open(parts)).toMatchObject({ isLocal: true })
      await parts.ledger.release('first')
      expect(open(parts)).toBe(503)
      const withholding = withholdingOf(parts)
      const began = performance.now()
      await withholding.begin(new Denylist(''))
      withholding.wake()
      await withholding.settled()
      console.log(`${COUNT} stale hints are gone after ${Math.round(performance.now() - began)} ms`)
      expect(open(parts)).toBeNull()
      await withholding.stop()
      const staged = await parts.stage()
      for (const { cid, bytes } of shared.blocks) await staged.put(cid, bytes)
      await parts.complete(staged, shared.root)
      // The index has public roots first, however many private ones there are.
      expect(open(parts)).toMatchObject({ isLocal: true })
    }),
  )
})
