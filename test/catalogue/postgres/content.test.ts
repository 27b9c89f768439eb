import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { postgresAccess } from '../../../src/catalogue/postgres/access-catalogue.ts'
import { postgresContent } from '../../../src/catalogue/postgres/content-catalogue.ts'
import { migrate } from '../../../src/catalogue/postgres/migrate.ts'
import { Postgres } from '../../../src/catalogue/postgres/postgres.ts'
import { migrations } from '../../../src/catalogue/postgres/schema.ts'
import { BlockTable } from '../../../src/ledger/block-table.ts'
import { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import { Holds } from '../../../src/ledger/holds.ts'
import { RootTable } from '../../../src/ledger/root-table.ts'
import { Database } from '../../../src/storage/database.ts'
import { WriteQueue } from '../../../src/storage/write-queue.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { contentRules } from '../content-rules.ts'
import { ACCOUNTS, ELSEWHERE } from '../content-support.ts'
import type { ContentCatalogue, Surroundings } from '../memory-catalogue.ts'
import { placementRules } from '../placement-rules.ts'
import { reconciliationRules } from '../reconciliation-rules.ts'
import { searchRules } from '../search-rules.ts'
import { webhookRules } from '../webhook-rules.ts'
import { emptied } from './emptied.ts'

const rules = [...contentRules, ...searchRules, ...placementRules, ...reconciliationRules, ...webhookRules]

describe('content in PostgreSQL, held by a ledger in SQLite', needsPostgres, () => {
  let server: TestPostgres
  let database: Postgres
  beforeAll(async () => {
    server = await startPostgres()
    database = await Postgres.open({ url: await server.fresh() })
    await migrate(database, migrations)
  })
  beforeEach(() => emptied(database))
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })

  test.each(rules)('$name', ({ run }) => withCatalogue(database, run))
})

function withCatalogue(database: Postgres, run: (catalogue: ContentCatalogue) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const db = new Database(join(dir, 'holdfast.db'))
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const holds = new Holds(db, roots)
    const ledger = new CatalogueHolds({ roots, holds, blocks: new BlockTable(db), queue })
    const access = postgresAccess(database, 'here')
    const rest = { name: null, plan: 'unlimited', role: 'user' as const, defaultCluster: null, disabled: false }
    for (const id of ACCOUNTS) await access.accounts.insert({ id, email: `${id}@test`, ...rest, createdAt: 0 }, null)
    try {
      await run({
        ...access,
        ...postgresContent(database, ledger, 'here', ELSEWHERE),
        ...surroundings(database, { db, queue, roots, holds }),
      })
    } finally {
      await queue.settled()
      db.close()
    }
  })
}

/** The rules name roots as records do, which is as the catalogue does, and holds by the records they are for. */
function surroundings(
  database: Postgres,
  { db, queue, roots, holds }: { db: Database; queue: WriteQueue; roots: RootTable; holds: Holds },
): Surroundings {
  const rootOf = async (rootId: number): Promise<number> => {
    const dag = await database.reading.first<{ backendId: number; codec: number; multihash: Uint8Array }>(
      'SELECT backend_id AS "backendId", codec, multihash FROM roots WHERE id = $1',
      [rootId],
    )
    return dag === undefined ? 0 : (roots.find(dag.backendId, dag)?.id ?? 0)
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
    unhold: async id => {
      const text = 'SELECT hold_id AS "holdId" FROM records WHERE id = $1'
      const held = await database.reading.first<{ holdId: string }>(text, [id])
      unhold.run(held?.holdId ?? id)
    },
    lose: async rootId => {
      const ledgerRootId = await rootOf(rootId)
      await queue.run(() => roots.drop(ledgerRootId), { durable: false })
    },
  }
}
