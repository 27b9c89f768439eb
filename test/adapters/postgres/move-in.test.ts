import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { moveIn } from '../../../adapters/postgres/move-in.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { SqliteMovedCatalogue } from '../../../src/catalogue/sqlite/moved-catalogue.ts'
import { type CopiedTable, movedTables } from '../../../src/catalogue/tables.ts'
import { allTables } from '../../../src/features/feature-list.ts'
import { Database, type SqlValue } from '../../../src/storage/database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const MOVED = movedTables(allTables)

type Row = Record<string, SqlValue>

/**
 * Values required by rules and references. Every other column gets a unique value. All rows belong to one account and
 * root.
 */
const ACCOUNT = 'the account'
const ROOT = 71
const CHARGE = 512
const GIVEN: Readonly<Record<string, SqlValue>> = {
  ...{
    account_id: ACCOUNT,
    root_id: ROOT,
    'accounts.id': ACCOUNT,
    'roots.id': ROOT,
    'roots.owner': 77,
    'records.charge': CHARGE,
  },
  ...{ 'accounts.role': 'owner', 'roots.state': 'complete', 'records.type': 'pin', 'records.status': 'pinned' },
  'audit.actor': 'stranger',
  ...{ 'accounts.email': 'Deleted Account', 'jobs.kind': 'fetch' },
  // These are recounted after the move.
  ...{ 'accounts.pins': 1, 'accounts.expiring_pins': 1, 'accounts.stored_bytes': CHARGE },
  ...{ 'removed_records.meta': '{"a key":"a value"}' },
  // The target derives these from the names.
  ...{ 'records.folded_name': 'records name', 'removed_records.folded_name': 'removed_records name' },
  ...{ 'records.meta': '{"a key":"a value"}', 'api_keys.upload': '{"a":1}' },
  ...{
    'api_keys.scopes': '["a scope"]',
    'api_keys.ip_allowlist': '["an address"]',
    'fetches.origins': '["an origin"]',
  },
  ...Object.fromEntries(
    [
      'accounts.disabled',
      'fetches.running',
      'fetches.whole',
      'placements.wanted',
      'placements.placed',
      'placements.entrusted',
    ].map(name => [name, 1]),
  ),
  ...{ 'placements.anew': 1, 'deliveries.delivered': 1, 'deliveries.ended': 1 },
}

/** SQLite columns without a column of the same name in PostgreSQL, and why. */
const ONLY_SQLITE: Readonly<Record<string, string>> = {
  'records.search_id': 'is seq in PostgreSQL',
  'removed_records.search_id': 'is seq in PostgreSQL',
  'roots.state': 'only complete roots move',
  'roots.live_until': 'follows from the records',
  'roots.created_at': 'the fetch has its own',
  'roots.placed_at': 'belongs to the local copy',
  'roots.unconfirmed': 'belongs to the local copy',
  'roots.barred': 'belongs to the blocks of this node',
  'second_factors.sealed': 'all are sealed before a move',
}

/** PostgreSQL columns without a column of the same name in SQLite, and their values after the move. */
const ONLY_POSTGRES: Readonly<Record<string, unknown>> = {
  ...{ 'accounts.seq': 1, 'accounts.email_key': 'Deleted Account', 'api_keys.seq': 1, 'api_keys.is_token': true },
  ...{ 'sessions.seq': 1, 'roots.listed': true, 'fetches.created_at': expect.any(Number), 'fetches.node': 'node' },
  ...{ 'fetches.hold_id': expect.stringMatching(/^fetch \d+$/), 'fetches.leavings': 0, 'records.lost_with': null },
  ...{ 'records.seq': expect.any(Number), 'records.hold_id': 'records id', 'records.identity': expect.any(Buffer) },
  'records.words': expect.any(Array),
  'root_files.owner': 77,
  ...{ 'removed_records.seq': expect.any(Number), 'removed_records.hold_id': 'removed_records id' },
  ...{ 'removed_records.identity': expect.any(Buffer), 'removed_records.words': expect.any(Array) },
  ...{ 'jobs.leased_by': null, 'jobs.leased_until': null },
}

/** Columns whose values differ after the move. */
const CHANGED: Readonly<Record<string, unknown>> = { 'jobs.queue': 'node' }

/** Tables that only PostgreSQL has, with their rows after the move. */
const NEW_TABLES = {
  ...{
    attempts: 0,
    copies: 0,
    copy_sets: 0,
    copy_walk: 0,
    fleet_secret: 0,
    holds: 3,
    login_challenges: 0,
    account_versions: 1,
    moves: 1,
    nodes: 0,
    record_places: 1,
  },
  ...{
    request_windows: 0,
    revisions: 0,
    roots_gone: 0,
    schema_versions: migrations.length + 1,
    sealing_key: 0,
    signing_keys: 0,
  },
  ...{ copy_absences: 0, disputes: 0, takedowns: 0, offers: 0, set_backs: 0, deletion_stops: 0, released_bytes: 0 },
}

describe('a moved catalogue', needsPostgres, () => {
  let server: SharedPostgres
  let postgres: Postgres
  beforeAll(async () => {
    server = await sharedPostgres()
    postgres = await Postgres.open({ url: await server.migrated() })
    await migrate(postgres, migrations)
  })
  afterAll(async () => {
    await postgres?.close()
    await server?.stop()
  })

  test('has every column of every table unchanged', async () => {
    await withTempDir(async directory => {
      const sqlite = new Database(join(directory, 'holdfast.db'))
      const rows = new Map<string, Row>()
      for (const { name } of sqlite.prepare<[], { name: string }>(ALL_TRIGGERS).all()) {
        sqlite.prepare(`DROP TRIGGER ${name}`).run()
      }
      for (const table of MOVED) rows.set(table.name, fill(sqlite, table))
      const moved = await moveIn(postgres, new SqliteMovedCatalogue(sqlite, allTables), {
        node: 'node',
        onProgress: () => undefined,
      })
      expect(moved.recounted).toEqual([])
      sqlite.close()
      const actual: Record<string, unknown> = {}
      const expected: Record<string, unknown> = {}
      const seen = new Set<string>()
      for (const [table, sqliteRow] of rows) {
        const postgresRow = (await postgres.reading.all<Record<string, unknown>>(`SELECT * FROM ${table}`))[0] ?? {}
        for (const column of new Set([...Object.keys(sqliteRow), ...Object.keys(postgresRow)])) {
          const name = `${table}.${column}`
          if (!(column in postgresRow) || !(column in sqliteRow)) seen.add(name)
          if (!(column in postgresRow)) continue
          expected[name] = CHANGED[name] ?? (column in sqliteRow ? sqliteRow[column] : ONLY_POSTGRES[name])
          actual[name] = asInSqlite(expected[name], postgresRow[column])
        }
      }
      expect(actual).toEqual(expected)
      expect([...seen].toSorted()).toEqual([...Object.keys(ONLY_SQLITE), ...Object.keys(ONLY_POSTGRES)].toSorted())
      const next = await postgres.reading.first<{ id: number; free: number }>(
        "SELECT nextval(pg_get_serial_sequence('bulk_changes', 'id')) AS id, MAX(id) + 1 AS free FROM bulk_changes",
      )
      expect(next?.id).toBe(next?.free)
      const all = await postgres.reading.all<{ name: string }>(
        'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
      )
      const others = all.map(({ name }) => name).filter(name => !MOVED.some(table => table.name === name))
      const counted: Record<string, number> = {}
      for (const name of others) {
        counted[name] = (await postgres.reading.all(`SELECT 1 FROM ${name}`)).length
      }
      expect(counted).toEqual(NEW_TABLES)
    })
  })

  test('is refused by a database that has rows', async () => {
    const filled = await Postgres.open({ url: await server.migrated() })
    const sqlite = new Database(':memory:')
    try {
      await migrate(filled, migrations)
      await filled.command("INSERT INTO takedowns (cid, path, status, reason, at) VALUES ('c', '', 410, '', 1)")
      const into = { node: 'node', onProgress: () => undefined }
      await expect(moveIn(filled, new SqliteMovedCatalogue(sqlite, allTables), into)).rejects.toMatchObject({
        code: 'CONFLICT',
      })
    } finally {
      sqlite.close()
      await filled.close()
    }
  })
})

const ALL_TRIGGERS = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"

/** Inserts a row whose columns all have unique values and no defaults. */
function fill(sqlite: Database, { name: table }: CopiedTable): Row {
  const columns = sqlite
    .prepare<[string], { name: string; type: string; cid: number }>('SELECT cid, name, type FROM pragma_table_info(?)')
    .all(table)
  const row: Row = {}
  for (const { cid, name, type } of columns) {
    const number = 1_000 + 100 * MOVED.findIndex(one => one.name === table) + cid
    const made = type === 'TEXT' ? `${table} ${name}` : type === 'BLOB' ? Buffer.alloc(20, `${number}`) : number
    row[name] = GIVEN[`${table}.${name}`] ?? GIVEN[name] ?? made
  }
  const names = Object.keys(row)
  sqlite
    .prepare<SqlValue[]>(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
    .run(...Object.values(row))
  return row
}

/** Converts a value to its form in SQLite: numbers for booleans, JSON for lists and objects. */
function asInSqlite(expected: unknown, value: unknown): unknown {
  if (typeof expected === 'number' && typeof value === 'boolean') return Number(value)
  return typeof expected === 'string' && typeof value === 'object' ? JSON.stringify(value) : value
}
