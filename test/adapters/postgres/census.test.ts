import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { PostgresCensus } from '../../../adapters/postgres/postgres-census.ts'
import { CensusTable } from '../../../src/catalogue/sqlite/census-table.ts'
import { commit, dagOf, NOW, record, request } from '../../catalogue/content-support.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('the census of a shared catalogue', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  test('counts the records of all nodes by status, and the accounts', () =>
    withNode(database, 'here', async node => {
      const census = new PostgresCensus(database, new CensusTable(node.db))
      expect(await census.oldestFetchAt()).toBeNull()
      await commit(node, [record('one'), record('two', { accountId: 'two', dag: dagOf('b') })])
      await request(node, record('waiting', { dag: dagOf('c') }))
      const fetch = await database.reading.first<{ at: number }>('SELECT created_at AS at FROM fetches')
      expect(await census.oldestFetchAt()).toBe(fetch?.at)
      await node.accounts.markDeleted('two', NOW)
      const counted = (await census.counters()).map(({ kind, state, count, bytes }) => [kind, state, count, bytes])
      expect(counted.filter(([kind]) => kind === 'records').toSorted()).toEqual([
        ['records', 'failed', 0, 0],
        ['records', 'pinned', 2, 0],
        ['records', 'queued', 1, 0],
      ])
      expect(counted.filter(([kind]) => kind === 'accounts').toSorted()).toEqual([
        ['accounts', '', 1, 512],
        ['accounts', 'deleted', 1, 512],
      ])
      expect(counted).toContainEqual(['roots', 'complete', 2, expect.any(Number)])
    }))
})
