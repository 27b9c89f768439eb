import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { beginHolds } from '../../../adapters/postgres/holds/begun-holds.ts'
import { dagOf, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withAccounts } from './catalogue-in-postgres.ts'
import { openedDatabase } from './opened-database.ts'

/** Statements after which a connection plans a prepared one no more. */
const PLANNED = 8
/** So many that a plan for each call costs more than one for all. */
const REQUESTS = 20
const RECORDS = `
  INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, size,
    dag_size, charge, created_at, identity, words)
  SELECT 'made' || n, 'one', 'near', 'c', 85, sha256(n::text::bytea), n, 'file', 'pinned', n, 1, 1, 1, n,
    sha256(n::text::bytea), '{}' FROM generate_series(1, 1000) n`

describe('begun holds', needsPostgres, () => {
  let database: Postgres
  const use = async (opened: Postgres): Promise<void> => {
    database = opened
    await withAccounts(database)
  }
  // All statements share the plans of one connection.
  openedDatabase(use, { connections: 1 })

  const begin = (content: string) => {
    const requests = Array.from({ length: REQUESTS }, (_, i) => {
      const made = record('new', { dag: dagOf(`${content} ${i}`) })
      const { codec, multihash, accountId } = made
      const unlessRepeated = { record: made, now: NOW }
      return {
        backendId: 0,
        dag: { codec, multihash, ...SIZES },
        ends: null,
        stagedRootId: null,
        accountId,
        unlessRepeated,
      }
    })
    return beginHolds(database, { node: 'here', backend: id => id }, requests)
  }
  const readRecords = async () => {
    await database.reading.all('SELECT pg_stat_force_next_flush()')
    const text = "SELECT seq_tup_read + idx_tup_fetch AS count FROM pg_stat_user_tables WHERE relname = 'records'"
    return (await database.reading.first<{ count: number }>(text))?.count ?? Number.NaN
  }

  test('read no other records of an account whose tables have no statistics', async () => {
    await database.command('ALTER TABLE records SET (autovacuum_enabled = FALSE)')
    for (let i = 0; i < PLANNED; i++) await begin(`before ${i}`)
    await database.command(RECORDS)
    const before = await readRecords()
    await begin('after')
    expect((await readRecords()) - before).toBeLessThan(REQUESTS)
  })
})
