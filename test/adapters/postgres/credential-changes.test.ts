import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgresAccess } from '../../../adapters/postgres/access/postgres-access.ts'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { PostgresRevisions } from '../../../adapters/postgres/fleet/postgres-revisions.ts'
import { CredentialChanges } from '../../../adapters/postgres/outages/credential-changes.ts'
import { PostgresTakedowns } from '../../../adapters/postgres/postgres-takedowns.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { ACCOUNTS } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withAccounts } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

describe('credentials that change on another node', needsPostgres, () => {
  let server: TestPostgres
  let there: Postgres
  let here: Postgres
  let url: string
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.fresh()
    there = await Postgres.open({ url })
    here = await Postgres.open({ url })
    await migrate(there, migrations)
  })
  beforeEach(async () => {
    await emptied(there)
    await withAccounts(there)
  })
  afterAll(async () => {
    await there?.close()
    await here?.close()
    await server?.stop()
  })

  const key = {
    ...{ id: 'k', accountId: ACCOUNTS[0], parentId: null, name: 'k', label: null, hash: Buffer.from('k'), prefix: '' },
    ...{ scopes: [], ipAllowlist: [], createdAt: 1, expiresAt: null, lastUsedAt: null, upload: null },
  }

  test('are reported by the only connection, and the database as unreachable', async () => {
    const other = new URL(url)
    other.username = 'limited'
    await there.command('CREATE ROLE limited LOGIN CONNECTION LIMIT 1')
    await there.command('GRANT SELECT ON revisions TO limited')
    const limited = await Postgres.open({ url: other.href })
    const clock = new ManualClock()
    const changes = new CredentialChanges(limited, clock)
    const problem = () => {
      clock.advance(400)
      return changes.health.problem
    }
    try {
      await changes.start()
      expect(changes.health.problem).toBeNull()
      await expect(limited.reading.all('SELECT 1')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await expect.poll(problem).toBe('no-catalogue')
      await there.command('ALTER ROLE limited CONNECTION LIMIT -1')
      await expect.poll(problem).toBeNull()
      expect(await limited.reading.all('SELECT 1 AS one')).toEqual([{ one: 1 }])
    } finally {
      await changes.stop()
      await limited.close()
    }
  })

  test('are reported, unlike changes without effect', async () => {
    const changes = new CredentialChanges(here, new ManualClock())
    await changes.start()
    try {
      const { keys, accounts, sessions } = postgresAccess(there, 'there')
      const before = changes.version()
      await keys.insert(key, { now: 1, maxKeys: null })
      await keys.noteUse('k', 5)
      await accounts.change('two', { disabled: true })
      expect(await changes.unsettled()).toEqual([])
      expect(changes.version()).toBe(before + 1)
      await keys.revoke('k')
      expect(await changes.unsettled()).toEqual([])
      expect(changes.version()).toBe(before + 2)
      const session = { id: 's', accountId: ACCOUNTS[0], createdAt: 1, expiresAt: 9, provedAt: null }
      await sessions.begin(session, { now: 1, passwordHash: '' })
      await sessions.end('s')
      expect(await changes.unsettled()).toEqual([])
      expect(changes.version()).toBe(before + 3)
    } finally {
      await changes.stop()
    }
  })

  test('come with the takedowns of other nodes', { timeout: 150_000 }, async () => {
    const changes = new CredentialChanges(here, new ManualClock())
    await changes.start()
    try {
      const takedowns = new PostgresTakedowns(there)
      const takedown = { cid: 'c', path: '', status: 410 as const, reason: '', at: 1 }
      for (const change of [() => takedowns.put(takedown), () => takedowns.lift(takedown, 2)]) {
        let heard: number | null = null
        changes.revisions(newest => {
          heard = newest
        })
        await change()
        expect(await changes.unsettled()).toEqual([])
        expect(heard).toBe(await new PostgresRevisions(there, 'there').newest())
      }
    } finally {
      await changes.stop()
    }
  })

  test('count as changed every second without a connection', async () => {
    const clock = new ManualClock()
    const changes = new CredentialChanges(here, clock)
    await changes.start()
    try {
      const listening = changes.version()
      await there.command(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query LIKE 'SELECT EXTRACT%'`,
      )
      await expect.poll(() => changes.version()).toBeLessThan(0)
      const alone = changes.version()
      expect(changes.version()).toBe(alone)
      clock.advance(1_000)
      await expect.poll(() => changes.version()).not.toBe(alone)
      await expect
        .poll(() => {
          clock.advance(400)
          return changes.version()
        })
        .toBeGreaterThan(listening)
    } finally {
      await changes.stop()
    }
  })
})
