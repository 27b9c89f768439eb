import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { postgresAccess } from '../../../adapters/postgres/access/postgres-access.ts'
import { postgresSignIn } from '../../../adapters/postgres/access/postgres-sign-in.ts'
import { agreeOnKey } from '../../../adapters/postgres/access/sealing-key.ts'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { SharedHolds } from '../../../adapters/postgres/holds/shared-holds.ts'
import { RecordLists } from '../../../adapters/postgres/lists/record-lists.ts'
import { PostgresCensus } from '../../../adapters/postgres/postgres-census.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { knownStatements } from '../../../src/catalogue/rules/statement.ts'
import type { SharedSignIn } from '../../../src/catalogue/sign-in.ts'
import { CensusTable } from '../../../src/catalogue/sqlite/census-table.ts'
import { sealingWith } from '../../../src/domain/sealing.ts'
import { accessRules } from '../../catalogue/access-rules.ts'
import { bulkRules } from '../../catalogue/bulk-rules.ts'
import { contentRules } from '../../catalogue/content-rules.ts'
import { egressRules } from '../../catalogue/egress-rules.ts'
import { featureRules } from '../../catalogue/feature-rules.ts'
import { placementRules } from '../../catalogue/placement-rules.ts'
import { reconciliationRules } from '../../catalogue/reconciliation-rules.ts'
import { searchRules } from '../../catalogue/search-rules.ts'
import { visibilityRules } from '../../catalogue/visibility-rules.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'
import { sendNodeStatements } from './node-statements.ts'
import { openedDatabase } from './opened-database.ts'

const contents = [
  ...contentRules,
  ...bulkRules,
  ...searchRules,
  ...placementRules,
  ...reconciliationRules,
  ...visibilityRules,
  ...featureRules,
  ...egressRules,
]
/** Slow rules that send no statement of their own. */
const LONG = /^whoever signs in more often|^what waits for one webhook is bounded|^expired keys are kept/

/** Fills each table with tens of thousands of rows, and records with 100,000. One account has a tenth of them. */
const SEED = `
  ALTER TABLE records SET UNLOGGED;
  ALTER TABLE roots SET UNLOGGED;
  ALTER TABLE holds SET UNLOGGED;
  ALTER TABLE records DISABLE TRIGGER USER;
  INSERT INTO accounts (id, email, email_key, plan, role, disabled, created_at, deleted_at, owner)
    SELECT 'a' || n, 'e' || n, 'e' || n, 'free', 'user', FALSE, n, CASE WHEN n % 500 = 0 THEN n END, n
    FROM generate_series(1, 20000) n;
  INSERT INTO api_keys (id, account_id, name, hash, prefix, scopes, ip_allowlist, created_at, expires_at, is_token)
    SELECT 'k' || n, 'a' || n % 20000, 'k' || n, decode(md5(n::text), 'hex'), '', '{}', '{}', n,
      CASE WHEN n % 3 = 0 THEN n END, n % 10 = 0 FROM generate_series(1, 40000) n;
  INSERT INTO sessions (id, account_id, created_at, expires_at)
    SELECT 's' || n, 'a' || n % 20000, n, n FROM generate_series(1, 40000) n;
  INSERT INTO second_factors SELECT 'a' || n, '', n, 0 FROM generate_series(1, 20000) n;
  INSERT INTO password_links SELECT 'a' || n, decode(md5(n::text), 'hex'), n FROM generate_series(1, 20000) n;
  INSERT INTO identities SELECT 'https://a', 's' || n, 'a' || n, CASE WHEN n % 9 = 0 THEN n END, NULL, CASE WHEN n % 7 = 0 THEN n END FROM generate_series(1, 20000) n;
  INSERT INTO recovery_codes SELECT 'a' || n % 20000, decode(md5(n::text), 'hex') FROM generate_series(1, 40000) n;
  INSERT INTO roots (backend_id, codec, multihash, content_size, dag_size, blocks, charge, file_count)
    SELECT 0, 85, decode(md5(n::text), 'hex'), 1, 1, 1, 512, 1 FROM generate_series(1, 100000) n;
  INSERT INTO roots (backend_id, codec, multihash, content_size, dag_size, blocks, charge, file_count, owner)
    SELECT 0, 85, decode(md5('p' || n), 'hex'), 1, 1, 1, 512, 0, n % 2000 + 1 FROM generate_series(1, 20000) n;
  INSERT INTO root_files SELECT n / 100, n % 100, 'f' || n, 85, decode(md5(n::text), 'hex'), 1
    FROM generate_series(1, 40000) n;
  INSERT INTO roots_gone SELECT n FROM generate_series(1, 20000) n;
  INSERT INTO holds (id, node, root_id, state)
    SELECT 'hold ' || n, 'here', n, CASE WHEN n % 1000 = 0 THEN 'void' ELSE 'used' END
    FROM generate_series(1, 100000) n;
  INSERT INTO fetches (account_id, backend_id, codec, multihash, node, root_id, hold_id, origins, created_at, running)
    SELECT 'a' || n % 2000, 0, 85, decode(md5('x' || n), 'hex'), 'here', n, 'h', '{}', n, n % 100 = 1
    FROM generate_series(1, 20000) n;
  INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, hold_id, type, status, status_at,
      fetch_id, name, size, dag_size, charge, expires_at, created_at, identity, folded_name, words)
    SELECT 'r' || n, 'a' || CASE WHEN n % 10 = 0 THEN 7 ELSE n % 20000 END, 'near', 'c', 85,
      decode(md5((n % 50000)::text), 'hex'), CASE WHEN n % 20 <> 0 THEN n % 50000 END, 'hold ' || n, 'file',
      CASE WHEN n % 20 = 0 THEN 'queued' WHEN n % 21 = 0 THEN 'pinning' ELSE 'pinned' END, n,
      CASE WHEN n % 20 = 0 THEN n / 20 END, 'n' || n, 1, 1, 512, CASE WHEN n % 7 = 0 THEN n * 10 END, n,
      decode(md5(n::text), 'hex'), 'n' || n, ARRAY['7n' || n, '7g' || n % 300, '7g' || n % 30]
    FROM generate_series(1, 100000) n;
  UPDATE holds SET new_end = 0 WHERE root_id % 500 = 1;
  INSERT INTO removed_records SELECT removed.* FROM (SELECT *, seq % 100 AS change_id FROM records LIMIT 20000) r,
    json_populate_record(NULL::removed_records, to_json(r)) removed;
  INSERT INTO bulk_changes (name, account_id, action, selection, total, undo_ms, created_at)
    SELECT 'b' || n, 'a' || n % 2000, 'delete', '', 1, 1, n FROM generate_series(1, 20000) n;
  INSERT INTO removals (account_id, codec, multihash, created_by)
    SELECT 'a' || n, 85, '', n FROM generate_series(1, 20000) n;
  INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation)
    SELECT n % 3, 85, decode(md5(n::text), 'hex'), 'a' || n % 2000, TRUE, 1 FROM generate_series(1, 50000) n;
  INSERT INTO account_versions (account_id, version) SELECT 'a' || n, n FROM generate_series(1, 20000) n;
  INSERT INTO webhooks (id, account_id, url, secret, created_at)
    SELECT 'w' || n, 'a' || n, '', '', n FROM generate_series(1, 20000) n;
  INSERT INTO deliveries (webhook_id, account_id, event, record, ended)
    SELECT 'w' || n % 2000, 'a' || n % 2000, '', '', n % 2 = 1 FROM generate_series(1, 40000) n;
  INSERT INTO jobs (kind, key, queue, account_id, due_at)
    SELECT 'fetch', id, 'here', account_id, CASE WHEN id % 100 <> 0 THEN id END FROM fetches WHERE id % 2 = 0
    UNION ALL SELECT 'placement', id, backend_id::text, account_id, id FROM placements WHERE id % 2 = 0
    UNION ALL SELECT 'bulk', id, '', account_id, id FROM bulk_changes WHERE id % 2 = 0
    UNION ALL SELECT 'delivery', id, '', account_id, id FROM deliveries WHERE id % 2 = 0;
  INSERT INTO attempts SELECT 'code', 'a' || n, 1, now() + n * INTERVAL '1 second' FROM generate_series(1, 20000) n;
  INSERT INTO login_challenges SELECT decode(md5(n::text), 'hex'), 'a' || n, '', n FROM generate_series(1, 20000) n;
  INSERT INTO request_windows SELECT 'a' || n, 9, 1, 1, now() + n * INTERVAL '1 second' FROM generate_series(1, 20000) n;
  INSERT INTO released_bytes SELECT 'a' || n, 'n' || n % 3, n FROM generate_series(1, 20000) n;
  INSERT INTO egress SELECT 'a' || n, 202611, 'd', n FROM generate_series(1, 20000) n;
  INSERT INTO audit (key, actor, number, created_at, last_at, times, account_id, action, outcome)
    SELECT 'k' || n, 'account', n, n, n, 1, 'a' || n % 100, 'a' || n % 40, 'o' || n % 20 FROM generate_series(1, 40000) n;
  INSERT INTO offers SELECT 'r' || n, 'n' || n % 3, 'near', 'h' || n, n FROM generate_series(1, 40000) n;
  INSERT INTO disputes SELECT 'r' || n, 'public' FROM generate_series(1, 20000) n;
  INSERT INTO copies (multihash, codec, owner, node, state, hold_id, root_id)
    SELECT decode(md5(n::text), 'hex'), 85, 0, 'n' || n % 3, CASE WHEN n % 10 = 0 THEN 'wanted' ELSE 'have' END, 'h' || n, n
    FROM generate_series(1, 40000) n;
  SELECT place_records();
  INSERT INTO takedowns (cid, path, status, reason, at) SELECT 'c' || n, '', 410, '', n FROM generate_series(1, 20000) n;
  ALTER TABLE records ENABLE TRIGGER USER;
  ANALYZE`

/** Tables with few rows: one, or one for each node, database or set-back. */
const SMALL = [
  'nodes',
  'deletion_stops',
  'set_backs',
  'moves',
  'fleet_secret',
  'hold_numbers',
  'copy_absences',
  'copy_sets',
  'copy_walk',
  'revisions',
  'pg_database',
  'pg_trigger',
]

/** Statements that may read a whole table, and why. */
const WHOLE: ReadonlyArray<[statement: RegExp, why: string]> = [
  [/FROM schema_versions/, 'one row for each version'],
  [/FROM signing_keys|^DELETE FROM signing_keys/, 'at most three rows'],
  [/FROM sealing_key/, 'one row'],
  [/^UPDATE identities SET refresh_token = NULL, refresh_at = NULL$/, 'once, after the loss of the key'],
  [/^SELECT COUNT\(\*\) AS count FROM accounts/, 'the number of accounts, for the owner'],
  [
    /FROM second_factors f JOIN accounts|^SELECT url AS name FROM webhooks|^DELETE FROM fleet_secret/,
    'runs once, after data.key was lost',
  ],
  [/^SELECT status AS state, COUNT/, 'counts waiting records by a partial index'],
  [/^\s*SELECT COUNT\(\*\) AS accounts, /, 'sums the accounts that keep bytes by a partial index'],
  [/^SELECT COUNT\(\*\) AS total FROM holds/, 'counts once, when a node is given up'],
  [/^SELECT 1 FROM placements WHERE wanted AND/, 'once, before a node retires'],
  [/SET state = 'retiring'/, 'counts once, when a node begins to retire'],
  [/AS "isEmpty"$/, 'after each pass over the content of a retiring node'],
  [/records\.cluster_id AS cluster\n/, 'the clusters of a node that retires, for the owner'],
  [/AS taker, COUNT\(\*\) AS count/, 'counts offers by node, for the owner'],
  [/^\s*SELECT MAX\(nodes.name\) AS name, 1/, 'the wanted copies by a partial index, for the owner'],
  [/^\s*SELECT node AS name, COUNT|AS number, SUM\(dag_size\)/, 'counts by node, for the owner'],
  [/^\s*SELECT state, COUNT\(\*\) AS count, \(extract/, 'counts the copies of a node, for the owner and metrics'],
  [/^SELECT id, url FROM nodes\s+WHERE url LIKE/, 'finds the first private root by a partial index, at the start'],
  [/^SELECT 'accounts' AS kind/, 'totals of all accounts, for the owner'],
]

describe('statements of the catalogue in PostgreSQL', needsPostgres, () => {
  let database: Postgres
  openedDatabase(opened => {
    database = opened
  })

  // PostgreSQL does so if the list does not fit into work_mem, and the list may have null.
  test('compare no row with each of a list', () => {
    const lists = writtenStatements().filter(text => /\bNOT IN \(SELECT\b/.test(text))
    expect(lists).toEqual([])
  })

  test('never read a whole table', { timeout: 240_000 }, async () => {
    for (const { name, run } of accessRules) {
      if (LONG.test(name)) continue
      await emptied(database)
      await run(postgresAccess(database, 'here'))
    }
    for (const { name, run } of contents) {
      if (LONG.test(name)) continue
      await emptied(database)
      await withAccounts(database)
      await withNode(database, 'here', run)
    }
    await withNode(database, 'here', async ({ db, ledger }) => {
      const census = new PostgresCensus(database, new CensusTable(db))
      await census.counters()
      await census.oldestFetchAt()
      await new SharedHolds(database, ledger, 'here', number => number).voidExpired()
    })
    await signIns(postgresSignIn(database, sealingWith(new Uint8Array(32))))
    await agreeOnKey(database, () => 'key')
    await sendNodeStatements(database)
    await lists(database)
    const isOnce = (text: string): boolean => migrations.some(({ sql }) => sql.includes(text))
    const sent = database.statements.filter(
      text => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text) && !isOnce(text),
    )
    const shared = knownStatements().map(({ postgres }) => postgres.text.trim())
    const written = [...shared.filter(text => !text.includes('advisory_lock')), ...writtenStatements()].map(plainOf)
    expect([sent.length > 120, written.length > 150, shared.length > 30]).toEqual([true, true, true])
    // Statements that no rule sends are planned from the source. Those with interpolations must be sent.
    const plain = sent.map(plainOf)
    const others = written.filter(text => !plain.some(one => madeOf(text).test(one)))
    expect(others.filter(text => text.includes('${'))).toEqual([])
    const statements = [...sent, ...others]
    await emptied(database)
    const client = await database.connection()
    try {
      // A busy machine takes longer for some of them than the engine waits.
      await client.query('SET statement_timeout = 0')
      for (const statement of SEED.split(';')) await client.query(statement)
      await client.query("SET plan_cache_mode = 'force_generic_plan'")
      const wrong: string[] = []
      for (const text of statements) {
        if (/FROM pg_tables|^WITH gone0/.test(text) || WHOLE.some(([whole]) => whole.test(text))) continue
        const whole = readWhole(await planOf(client, text))
        if (whole.length > 0) wrong.push(`${whole.join(', ')}: ${text.replace(/\s+/g, ' ')}`)
      }
      expect(wrong).toEqual([])
    } finally {
      client.release(true)
    }
  })
})

async function signIns({ attempts, challenges, signingKeys, requests }: SharedSignIn): Promise<void> {
  const limit = { requests: 1, windowSeconds: 60 }
  for (let i = 0; i < 2; i++) await attempts('code').take('one', limit)
  await attempts('code').release('one')
  await attempts('code').clear('one')
  const hash = Buffer.from('t')
  await challenges.insert(hash, { accountId: 'a', passwordHash: '', expiresAt: 1 }, 0)
  await challenges.get(hash)
  await challenges.remove(hash)
  await signingKeys.replace(null, [{ kid: 'k', secret: 'AAAA', createdAt: 1 }])
  await requests.grant([{ key: 'one', limit }])
}

/** Requests a far page and searches by status. */
async function lists(database: Postgres): Promise<void> {
  await emptied(database)
  await withAccounts(database)
  await database.command("UPDATE accounts SET pins = 5000, expiring_pins = 5000 WHERE id = 'one'")
  for (const hasExpiration of [false, true]) {
    await new RecordLists(database).page({ accountId: 'one', multihash: null, hasExpiration, now: 1 }, 2_000, 1)
    for (const statuses of [['pinned'], ['queued']] as const) {
      const search = {
        ...{ names: [], meta: {}, types: [], statuses, visibility: null, multihashes: [], before: null, after: null },
      }
      const filter = { accountId: 'one', multihash: null, hasExpiration, now: 1 }
      await new RecordLists(database).page({ ...filter, search: { ...search, oldestFirst: false } }, 0, 1)
    }
  }
}

const SOURCES = join(import.meta.dirname, '../../../adapters/postgres')
/** Sources with schema statements, or with statements for one pass over all rows. */
const OTHER_SOURCES = /^(schema|migrate|move)/

/** Returns the statements in the sources, with their interpolations. */
function writtenStatements(): string[] {
  const all = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  const files = all.filter(file => !OTHER_SOURCES.test(basename(file)))
  return files.flatMap(file => {
    const text = readFileSync(join(SOURCES, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, '')
    return [...text.matchAll(/'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`/g)]
      .map(([, single, double, template]) => plainOf(single ?? double ?? template ?? ''))
      .filter(one => /^(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH) /.test(one) && !/advisory_(un)?lock/.test(one))
  })
}

function plainOf(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function madeOf(text: string): RegExp {
  const parts = text.split(/\$\{[^}]*\}/).map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(parts.join('.*'))
}

type Client = Awaited<ReturnType<Postgres['connection']>>
interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

/** Returns the generic plan of a statement, for any values. */
async function planOf(client: Client, text: string): Promise<Plan> {
  const params = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)))
  await client.query(`PREPARE explained AS ${text}`).catch((cause: unknown) => {
    throw new Error(text, { cause })
  })
  const values = Array.from({ length: params }, () => 'NULL').join(', ')
  const explain = `EXPLAIN (FORMAT JSON) EXECUTE explained${params === 0 ? '' : `(${values})`}`
  const { rows } = await client.query<{ 'QUERY PLAN': Array<{ Plan: Plan }> }>(explain)
  await client.query('DEALLOCATE explained')
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error(`EXPLAIN gave no plan for ${text}`)
  return plan
}

/** Returns the tables that a plan reads whole, directly or along an index. */
function readWhole(plan: Plan, isLimited = false): string[] {
  const below = (plan.Plans ?? []).flatMap(part => readWhole(part, isLimited || plan['Node Type'] === 'Limit'))
  const relation = plan['Relation Name'] ?? ''
  const isWalk = /^Index (Only )?Scan$/.test(plan['Node Type']) && plan['Index Cond'] === undefined && !isLimited
  const isWhole = (plan['Node Type'] === 'Seq Scan' || isWalk) && !SMALL.includes(relation)
  return isWhole ? [relation, ...below] : below
}
