import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../../adapters/postgres/migrate.ts'
import { moveIn } from '../../../adapters/postgres/move-in.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { migrations } from '../../../adapters/postgres/schema.ts'
import { MOVED_TABLES, type MovedTable } from '../../../src/catalogue/moving.ts'
import { SqliteMovedCatalogue } from '../../../src/catalogue/sqlite/moved-catalogue.ts'
import { Database, type SqlValue } from '../../../src/storage/database.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'

type Row = Record<string, SqlValue>

/** Values that rules and references ask for; all others are of no other column. Their rows are of one account and root. */
const ACCOUNT = 'the account'
const ROOT = 71
const CHARGE = 512
const GIVEN: Readonly<Record<string, SqlValue>> = {
  ...{ account_id: ACCOUNT, root_id: ROOT, 'accounts.id': ACCOUNT, 'roots.id': ROOT, 'records.charge': CHARGE },
  ...{ 'accounts.role': 'owner', 'roots.state': 'complete', 'records.type': 'pin', 'records.status': 'pinned' },
  // What the account has is counted anew.
  ...{ 'accounts.pins': 1, 'accounts.expiring_pins': 1, 'accounts.stored_bytes': CHARGE },
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

/** What has no column of the same name here, and why. */
const NOT_COPIED: Readonly<Record<string, string>> = {
  'records.search_id': 'is seq',
  'roots.state': 'all of them are complete',
  'roots.live_until': 'is told by records',
  'roots.created_at': 'is the time of a fetch, which has it itself',
  'roots.placed_at': 'is for the local copy, which stays',
  'roots.unconfirmed': 'is for the local copy, which stays',
  'roots.barred': 'is for the blocks of this node, which stay',
  'second_factors.sealed': 'all of them are, before they are moved',
}

/** What has no column of the same name there, and what it says. */
const MADE: Readonly<Record<string, unknown>> = {
  ...{ 'accounts.seq': 1, 'accounts.email_key': 'accounts email', 'api_keys.seq': 1, 'api_keys.is_token': true },
  ...{ 'sessions.seq': 1, 'roots.listed': true, 'fetches.created_at': expect.any(Number), 'fetches.node': 'node' },
  ...{ 'fetches.hold_id': expect.stringMatching(/^fetch \d+$/), 'fetches.leavings': 0 },
  ...{ 'records.seq': expect.any(Number), 'records.hold_id': 'records id', 'records.identity': expect.any(Buffer) },
  ...{ 'records.folded_name': 'records name', 'records.words': expect.any(Array) },
  ...{ 'jobs.leased_by': null, 'jobs.leased_until': null },
}

/** Tables that stay: the ledger's, and what is made of others. */
const STAYING = [
  ...['backends', 'blocks', 'catalogue_move', 'catalogue_node', 'catalogue_past', 'counters', 'data_key', 'garbage'],
  ...['holds', 'root_blocks', 'search_lists', 'search_pending', 'small_blocks', 'verification', 'withheld'],
  ...['announced_as', 'cluster_checks', 'node_identity', 'reach_walks', 'reached', 'withheld_links'],
]

/** Tables that come about there, and how many rows they have after a move. */
const COMING = {
  ...{ attempts: 0, fleet_secret: 0, holds: 2, login_challenges: 0, moves: 1, nodes: 0, record_places: 1 },
  ...{ request_windows: 0, roots_gone: 0, schema_versions: migrations.length, sealing_key: 0, signing_keys: 0 },
  ...{ takedowns: 0 },
}

describe('what a catalogue is moved into', needsPostgres, () => {
  let server: TestPostgres
  let postgres: Postgres
  beforeAll(async () => {
    server = await startPostgres()
    postgres = await Postgres.open({ url: await server.fresh() })
    await migrate(postgres, migrations)
  })
  afterAll(async () => {
    await postgres?.close()
    await server?.stop()
  })

  test('has every column of every table, as it was', async () => {
    await withTempDir(async directory => {
      const sqlite = new Database(join(directory, 'holdfast.db'))
      const tables = sqlite
        .prepare<[], { name: string }>(
          `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'record_search%'
           ORDER BY name`,
        )
        .all()
      expect(tables.map(({ name }) => name)).toEqual([...MOVED_TABLES, ...STAYING].toSorted())
      const rows = new Map<MovedTable, Row>()
      for (const { name } of sqlite.prepare<[], { name: string }>(ALL_TRIGGERS).all()) {
        sqlite.prepare(`DROP TRIGGER ${name}`).run()
      }
      for (const table of MOVED_TABLES) rows.set(table, fill(sqlite, table))
      const moved = await moveIn(postgres, new SqliteMovedCatalogue(sqlite), {
        node: 'node',
        onProgress: () => undefined,
      })
      expect(moved.recounted).toEqual([])
      sqlite.close()
      const is: Record<string, unknown> = {}
      const was: Record<string, unknown> = {}
      const seen = new Set<string>()
      for (const [table, there] of rows) {
        const here = (await postgres.reading.all<Record<string, unknown>>(`SELECT * FROM ${table}`))[0] ?? {}
        for (const column of new Set([...Object.keys(there), ...Object.keys(here)])) {
          const name = `${table}.${column}`
          if (!(column in here) || !(column in there)) seen.add(name)
          if (!(column in here)) continue
          was[name] = column in there ? there[column] : MADE[name]
          is[name] = toldAs(was[name], here[column])
        }
      }
      expect(is).toEqual(was)
      expect([...seen].toSorted()).toEqual([...Object.keys(NOT_COPIED), ...Object.keys(MADE)].toSorted())
      const all = await postgres.reading.all<{ name: string }>(
        'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
      )
      const others = all.map(({ name }) => name).filter(name => !MOVED_TABLES.some(table => table === name))
      const counted: Record<string, number> = {}
      for (const name of others) {
        counted[name] = (await postgres.reading.all(`SELECT 1 FROM ${name}`)).length
      }
      expect(counted).toEqual(COMING)
    })
  })
})

const ALL_TRIGGERS = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"

/** Puts one row into a table, that has in each column what no other column has, and no default. */
function fill(sqlite: Database, table: MovedTable): Row {
  const columns = sqlite
    .prepare<[string], { name: string; type: string; cid: number }>('SELECT cid, name, type FROM pragma_table_info(?)')
    .all(table)
  const row: Row = {}
  for (const { cid, name, type } of columns) {
    const number = 1_000 + 100 * MOVED_TABLES.indexOf(table) + cid
    const made = type === 'TEXT' ? `${table} ${name}` : type === 'BLOB' ? Buffer.alloc(20, `${number}`) : number
    row[name] = GIVEN[`${table}.${name}`] ?? GIVEN[name] ?? made
  }
  const names = Object.keys(row)
  sqlite
    .prepare<SqlValue[]>(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
    .run(...Object.values(row))
  return row
}

/** A value as SQLite has it: numbers for booleans, JSON for lists and objects. */
function toldAs(was: unknown, value: unknown): unknown {
  if (typeof was === 'number' && typeof value === 'boolean') return Number(value)
  return typeof was === 'string' && typeof value === 'object' ? JSON.stringify(value) : value
}
