import { beforeEach, describe, expect, test } from 'vitest'
import { postgresAccess } from '../../../adapters/postgres/access/postgres-access.ts'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { NewKeyRow } from '../../../src/catalogue/index.ts'
import { accessRules } from '../../catalogue/access-rules.ts'
import { PLAIN_ACCOUNT } from '../../support/plain-account.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptied } from './emptied.ts'
import { openedDatabase } from './opened-database.ts'

describe('the access stores in PostgreSQL', needsPostgres, () => {
  let url: string
  let database: Postgres
  openedDatabase((opened, at) => {
    database = opened
    url = at
  })
  beforeEach(() => emptied(database))

  test('two nodes create no more keys than the plan allows', async () => {
    const other = await Postgres.open({ url })
    try {
      const [here, there] = [postgresAccess(database, 'here'), postgresAccess(other, 'there')]
      const rest = { ...PLAIN_ACCOUNT, plan: 'free' }
      await here.accounts.insert({ id: 'one', email: 'one@example.org', ...rest, createdAt: 1 }, null)
      const insert = (node: typeof here, id: string): Promise<string> =>
        node.keys.insert(key(id), { now: 1, maxKeys: 10 })
      for (let i = 0; i < 9; i++) await insert(here, `k${i}`)
      const made = await database.transaction(async sql => {
        // Both nodes count the keys before either can insert one.
        await sql.run('LOCK TABLE api_keys IN SHARE MODE')
        const inserted = Promise.all([insert(here, 'last'), insert(there, 'excess')])
        await expect.poll(() => database.reading.first(WAITING)).toEqual({ count: 2 })
        return { inserted }
      })
      expect((await made.inserted).toSorted()).toEqual(['inserted', 'too_many'])
    } finally {
      await other.close()
    }
  })

  test('the traffic of an account goes with it', async () => {
    const { accounts } = postgresAccess(database, 'here')
    const rest = { ...PLAIN_ACCOUNT, plan: 'free' }
    for (const id of ['one', 'two']) await accounts.insert({ id, email: id, ...rest, createdAt: 1 }, null)
    await database.command(
      "INSERT INTO egress (account_id, month, domain, bytes) VALUES ('one', 202611, 'a', 1), ('two', 202611, 'a', 1)",
    )
    expect(await accounts.markDeleted('one', 2)).toBe('marked')
    while (await accounts.purge('one', 10));
    expect(await accounts.forget('one')).toBe(true)
    expect(await database.reading.all('SELECT account_id AS id FROM egress')).toEqual([{ id: 'two' }])
  })

  test.each(accessRules)('$name', ({ run }) => run(postgresAccess(database, 'here')))
})

/** Counts the connections that wait for a lock. */
const WAITING = `SELECT COUNT(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`

function key(id: string): NewKeyRow {
  const rest = { parentId: null, label: null, prefix: 'hf_', scopes: [], ipAllowlist: [], createdAt: 1 }
  const ends = { expiresAt: null, lastUsedAt: null, upload: null }
  return { id, accountId: 'one', name: id, hash: Buffer.from(id), ...rest, ...ends }
}
