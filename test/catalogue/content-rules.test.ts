import { describe, expect, test } from 'vitest'
import { sqliteAccess } from '../../src/catalogue/sqlite/sqlite-access.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { newDatabase } from '../support/new-database.ts'
import { PLAIN_ACCOUNT } from '../support/plain-account.ts'
import { RepeatingDatabase } from '../support/repeating-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { bulkModel } from './bulk-model.ts'
import { bulkRules } from './bulk-rules.ts'
import { contentRules } from './content-rules.ts'
import { ACCOUNTS, EXTERNAL } from './content-support.ts'
import { wrongCatalogues } from './content-wrong.ts'
import { egressRules } from './egress-rules.ts'
import { featureRules } from './feature-rules.ts'
import { featureStores } from './feature-stores.ts'
import { type ContentCatalogue, memoryCatalogue, type Surroundings } from './memory-catalogue.ts'
import { placementRules } from './placement-rules.ts'
import { reconciliationRules } from './reconciliation-rules.ts'
import { searchRules } from './search-rules.ts'
import { visibilityRules } from './visibility-rules.ts'

const rules = [
  ...contentRules,
  ...bulkRules,
  ...bulkModel,
  ...searchRules,
  ...placementRules,
  ...reconciliationRules,
  ...visibilityRules,
  ...featureRules,
  ...egressRules,
]

function withSqlite(run: (catalogue: ContentCatalogue) => Promise<void>, DatabaseClass = Database): Promise<void> {
  return withTempDir(async dir => {
    const db = newDatabase(dir, DatabaseClass)
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const holds = new Holds(db, roots)
    const account = db.prepare<[string, string]>(
      "INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'unlimited', 'user', 0)",
    )
    for (const id of ACCOUNTS) account.run(id, `${id}@test`)
    const unhold = db.prepare<[string]>('DELETE FROM holds WHERE id = ?')
    const surroundings: Surroundings = {
      stage: (backendId, files = []) => {
        const work = (): number => {
          const id = roots.stage(backendId, 0)
          for (const [position, file] of files.entries()) roots.addFile(id, position, file)
          return id
        }
        return queue.run(work, { durable: false })
      },
      hold: (id, rootId) => queue.run(() => holds.hold(id, rootId, null), { durable: false }),
      holdOf: async id => id,
      unhold: async id => void unhold.run(id),
      lose: rootId => queue.run(() => roots.drop(rootId), { durable: false }),
    }
    const blocks = new BlockTable(db)
    const content = sqliteContent(db, queue, { roots, holds, blocks, claims: new Claims(db, blocks, queue) }, EXTERNAL)
    try {
      const { rules, ...access } = sqliteAccess(db, queue)
      await run({ ...access, ...featureStores(rules), ...content, ...surroundings })
    } finally {
      await queue.settled()
      db.close()
    }
  })
}

/** Creates a catalogue in memory, with the accounts. */
async function inMemory(): Promise<ContentCatalogue> {
  const catalogue = memoryCatalogue(EXTERNAL)
  const rest = { ...PLAIN_ACCOUNT, plan: 'unlimited' }
  for (const id of ACCOUNTS) await catalogue.accounts.insert({ id, email: `${id}@test`, ...rest, createdAt: 0 }, null)
  return catalogue
}

describe('content in SQLite', () => {
  test.each(rules)('$name', ({ run }) => withSqlite(run))
})

describe('content in SQLite, with every write repeated', () => {
  test.each(rules)('$name', ({ run }) => withSqlite(run, RepeatingDatabase))
})

describe('content in memory', () => {
  test.each(rules)('$name', async ({ run }) => run(await inMemory()))
})

describe('the rules detect a catalogue that', () => {
  const found = new Set<string>()
  test.each(wrongCatalogues)('%s', async (_, broken, expected) => {
    const failed: string[] = []
    for (const { name, run } of rules.filter(({ name }) => expected.some(rule => rule.test(name)))) {
      const right = await inMemory()
      await run({ ...right, ...broken(right) }).catch(() => failed.push(name))
    }
    for (const rule of expected) {
      const isFound = failed.some(name => rule.test(name))
      expect(isFound, `${rule} in ${failed.join('; ')}`).toBe(true)
    }
    for (const name of failed) found.add(name)
  })

  test('breaks each rule', () => {
    expect(rules.map(({ name }) => name).filter(name => !found.has(name))).toEqual([])
  })
})
