import { postgresAccess } from '../../../adapters/postgres/access/postgres-access.ts'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { FRAMES_RUN } from '../../../adapters/postgres/nodes/node-states.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import type { Copies } from '../../../src/catalogue/copies.ts'
import type { LostContent } from '../../../src/catalogue/lost-content.ts'
import type { Offers } from '../../../src/catalogue/offers.ts'
import { featureTables } from '../../../src/features/feature-list.ts'
import { BlockTable } from '../../../src/ledger/block-table.ts'
import { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import { Claims } from '../../../src/ledger/claims.ts'
import { Holds } from '../../../src/ledger/holds.ts'
import { RootOwners } from '../../../src/ledger/root-owners.ts'
import { RootTable } from '../../../src/ledger/root-table.ts'
import type { Database } from '../../../src/storage/database.ts'
import { WriteQueue } from '../../../src/storage/write-queue.ts'
import { ACCOUNTS, EXTERNAL } from '../../catalogue/content-support.ts'
import { featureStores } from '../../catalogue/feature-stores.ts'
import type { ContentCatalogue, Surroundings } from '../../catalogue/memory-catalogue.ts'
import { newDatabase } from '../../support/new-database.ts'
import { PLAIN_ACCOUNT } from '../../support/plain-account.ts'
import { withTempDir } from '../../support/temp-dir.ts'

/** A node: its ledger in SQLite and the shared catalogue. */
export interface TestNode extends ContentCatalogue {
  offers: Offers
  lost: LostContent
  copies: () => Promise<Copies | null>
  ledger: CatalogueHolds
  db: Database
}

/** Inserts the accounts that the rules use. */
export async function withAccounts(database: Postgres): Promise<void> {
  const { accounts } = postgresAccess(database, 'here')
  const rest = { ...PLAIN_ACCOUNT, plan: 'unlimited' }
  for (const id of ACCOUNTS) await accounts.insert({ id, email: `${id}@test`, ...rest, createdAt: 0 }, null)
}

function accessOf(database: Postgres, name: string) {
  const { rules, ...access } = postgresAccess(database, name)
  return { ...access, ...featureStores(rules) }
}

/**
 * Runs with a node in a temporary directory.
 *
 * @param number numbers the node's backends in the catalogue
 */
export function withNode(
  database: Postgres,
  name: string,
  run: (node: TestNode) => Promise<void>,
  number = 0,
): Promise<void> {
  return withTempDir(async dir => {
    const db = newDatabase(dir)
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const holds = new Holds(db, roots)
    const blocks = new BlockTable(db)
    const owners = new RootOwners(db, { roots, holds, queue })
    const ledger = new CatalogueHolds({ roots, holds, blocks, claims: new Claims(db, blocks, queue), owners, queue })
    const { content, work, offers, copies } = postgresContent(
      database,
      ledger,
      { name, number, run: `${FRAMES_RUN}${name}`, tables: featureTables },
      EXTERNAL,
    )
    try {
      await run({
        ...accessOf(database, name),
        ...content,
        offers,
        lost: work.lost,
        copies,
        ...surroundings(database, { db, queue, roots, holds }),
        ...{ ledger, db },
      })
    } finally {
      await queue.settled()
      db.close()
    }
  })
}

/** Returns the same node on another pool: the pool of the request under test, while other requests continue. */
export function byOther(database: Postgres, node: TestNode, name: string, number = 0): TestNode {
  return {
    ...node,
    ...accessOf(database, name),
    ...postgresContent(database, node.ledger, { name, number, tables: featureTables }, EXTERNAL).content,
  }
}

/** Adapts the helpers of the rules: the rules name roots by their catalogue ids and holds by their records. */
function surroundings(
  database: Postgres,
  { db, queue, roots, holds }: { db: Database; queue: WriteQueue; roots: RootTable; holds: Holds },
): Surroundings {
  const rootOf = async (rootId: number): Promise<number> => {
    const dag = await database.reading.first<{ backendId: number; codec: number; multihash: Uint8Array }>(
      'SELECT backend_id AS "backendId", codec, multihash FROM roots WHERE id = $1',
      [rootId],
    )
    return dag === undefined ? 0 : (roots.find(dag.backendId, dag, 0)?.id ?? 0)
  }
  const holdOf = async (id: string): Promise<string> => {
    const text = 'SELECT hold_id AS "holdId" FROM records WHERE id = $1'
    return (await database.reading.first<{ holdId: string }>(text, [id]))?.holdId ?? id
  }
  const unhold = db.prepare<[string]>('DELETE FROM holds WHERE id = ?')
  return {
    stage: (backendId, files = []) => {
      const work = (): number => {
        const id = roots.stage(backendId, 0)
        for (const [position, file] of files.entries()) roots.addFile(id, position, file)
        return id
      }
      return queue.run(work, { durable: false })
    },
    hold: async (id, rootId) => {
      const ledgerRootId = await rootOf(rootId)
      await queue.run(() => holds.hold(id, ledgerRootId, null), { durable: false })
    },
    holdOf,
    unhold: async id => void unhold.run(await holdOf(id)),
    lose: async rootId => {
      const ledgerRootId = await rootOf(rootId)
      await queue.run(() => roots.drop(ledgerRootId), { durable: false })
    },
  }
}
