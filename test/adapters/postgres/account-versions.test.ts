import pg from 'pg'
import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

const RAISE = "SELECT raise_versions(ARRAY['one'])"

describe('the versions of an account', needsPostgres, () => {
  let database: Postgres
  let url: string
  emptiedDatabase((opened, at) => {
    database = opened
    url = at
  })

  const rows = async (): Promise<number | undefined> => {
    const text = "SELECT COUNT(*)::int AS count FROM account_versions WHERE account_id = 'one'"
    return (await database.reading.first<{ count: number }>(text))?.count
  }

  test('have a row for each transaction at the same time', async () => {
    await database.command('DELETE FROM account_versions')
    const clients = Array.from({ length: 3 }, () => new pg.Client({ connectionString: url }))
    for (const client of clients) await client.connect()
    try {
      for (let round = 0; round < 5; round++) {
        for (const client of clients) await client.query('BEGIN')
        for (const client of clients) for (let i = 0; i < 3; i++) await client.query(RAISE)
        for (const client of clients) await client.query('COMMIT')
        for (const client of clients) await client.query(RAISE)
        expect(await rows()).toBe(clients.length)
      }
    } finally {
      for (const client of clients) await client.end()
    }
    await database.command("DELETE FROM accounts WHERE id = 'one'")
    expect(await rows()).toBe(0)
  })
})
