import { describe, expect, test } from 'vitest'
import { postgresAccess } from '../../../adapters/postgres/access/postgres-access.ts'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import { FAILED_PLANS, play, playModel } from '../../catalogue/catalogue-model.ts'
import type { Cuts, MakeCatalogue } from '../../catalogue/model-store.ts'
import { whole } from '../../catalogue/whole-reconciliation.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { PLAIN_ACCOUNT } from '../../support/plain-account.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptied } from './emptied.ts'
import { openedDatabase } from './opened-database.ts'

const TABLES = ['records', 'holds', 'roots', 'root_files', 'roots_gone', 'removals'] as const

describe('a catalogue in PostgreSQL and the ledger of a node', needsPostgres, () => {
  let database: Postgres
  let cuts: Cuts
  const use = (opened: Postgres): void => {
    database = opened
    const transaction = database.transaction.bind(database)
    database.transaction = async (work, lane) => {
      cuts.pass()
      return transaction(work, lane)
    }
    const writeRows = database.writeRows.bind(database)
    database.writeRows = async (text, params) => {
      cuts.pass()
      return writeRows(text, params)
    }
  }
  // Only the node is killed, not the database. Without syncs the model runs more steps.
  openedDatabase(use, { isAsynchronous: true })

  const inPostgres: MakeCatalogue = async (parts, newCuts) => {
    cuts = newCuts
    const node = { name: 'here', number: 0, clock: new ManualClock() }
    const { content } = postgresContent(database, new CatalogueHolds(parts), node)
    const { records, reconciliation } = content
    const { accounts } = postgresAccess(database, 'here')
    const rest = { ...PLAIN_ACCOUNT, plan: 'x', createdAt: 0 }
    return {
      records,
      begin: async ids => {
        await emptied(database)
        for (const id of ids) await accounts.insert({ id, email: id, ...rest }, null)
      },
      reconcile: async () => {
        await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
        await whole(reconciliation).holds({ after: '', limit: 100, mend: true })
      },
      left: async () => {
        const counts = TABLES.map(async table => {
          const counted = await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`)
          return [table, counted?.count ?? -1] as const
        })
        return Object.fromEntries(await Promise.all(counts))
      },
    }
  }

  const runs = Number(process.env.MODEL_RUNS ?? 3)
  const timeout = Math.max(180_000, runs * 20_000)
  test('behave like the model after any interruption', { timeout }, async () => {
    const outcome = await playModel(inPostgres, { runs, maxLength: 40, shrinks: false })
    expect(outcome.played).toBeGreaterThanOrEqual(20 * runs)
    expect(outcome.cuts).toBeGreaterThan(0)
  })

  test.each(Object.keys(FAILED_PLANS))('pass plans that failed once: %s', async name => {
    for (const plan of FAILED_PLANS[name] ?? []) await play(plan, inPostgres)
  })
})
