import pg from 'pg'
import { postgres } from '../../adapters/postgres/index.ts'
import { wordsOfRecord } from '../../adapters/postgres/lists/record-rows.ts'
import { createEngine } from '../../src/index.ts'
import { type FilledEngine, FOUND } from './filled-engine.ts'

const BATCH = 10_000

/**
 * Starts an engine on a database with this many records, with the names and metadata of those in SQLite. They are
 * inserted directly, because uploads would take hours. The caller stops the engine.
 */
export async function filledPostgres(
  dataDir: string,
  { database, records, samples }: { database: string; records: number; samples: number },
): Promise<FilledEngine> {
  const options = { dataDir, database, catalogue: postgres, network: { enabled: true } }
  const first = await createEngine(options)
  const { id: account } = await first.accounts.create({ email: 'list@example.org', plan: 'unlimited' })
  const { record } = await first.pins.upload(Buffer.from('content'), { account, name: 'a file' })
  await first.stop()
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    await fill(client, account, records - 1)
    const step = Math.max(1, Math.floor(records / samples))
    const picked = await client.query<{ cid: string }>(
      'SELECT cid FROM records WHERE account_id = $1 AND seq % $2 = 1 LIMIT $3',
      [account, step, samples],
    )
    return {
      engine: await createEngine(options),
      account,
      parent: record.cid,
      cids: picked.rows.map(({ cid }) => cid),
    }
  } finally {
    await client.end()
  }
}

async function fill(client: pg.Client, account: string, records: number): Promise<void> {
  const { rows } = await client.query<{ seq: string }>('SELECT seq FROM accounts WHERE id = $1', [account])
  const list = Number(rows[0]?.seq)
  // Oldest first, because the planner prefers the youngest of equal indexes.
  const indexes = await client.query<{ name: string; sql: string }>(
    `SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS sql FROM pg_index
     WHERE indrelid = 'records'::regclass AND NOT indisunique ORDER BY indexrelid`,
  )
  await client.query('ALTER TABLE records DISABLE TRIGGER USER')
  // Indexes are much faster to build at once.
  for (const { name } of indexes.rows) await client.query(`DROP INDEX ${name}`)
  const now = Date.now()
  const rare = Math.ceil(records / FOUND)
  for (let made = 0; made < records; made += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, records - made) }, (_, at) => {
      const i = made + at + 1
      const [name, meta] = i % rare === 1 ? [`file ${i} needle`, '{"found":"yes"}'] : [`file ${i}`, null]
      return { i, name, meta, words: wordsOfRecord(list, { name, meta }) }
    })
    await client.query(
      `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, name,
         meta, size, dag_size, charge, created_at, expires_at, identity, folded_name, words)
       SELECT 'made' || i, $1, r.cluster_id, r.cid, r.codec, '\\x1220'::bytea || sha256(i::text::bytea), 1000000000 + i,
         'file', 'pinned', 0, given.name, given.meta, 1000, 1000, 1000, $2::bigint + i,
         CASE i WHEN $3 THEN $2::bigint + 1e8::bigint END, sha256(('i' || i)::bytea), given.name, given.words
       FROM jsonb_to_recordset($4::jsonb) AS given (i bigint, name text, meta text, words text[]),
         (SELECT * FROM records WHERE id NOT LIKE 'made%' LIMIT 1) r
       ORDER BY i`,
      [account, now - records, Math.ceil(records / 2), JSON.stringify(batch)],
    )
  }
  await client.query("SET maintenance_work_mem = '256MB'")
  for (const { sql } of indexes.rows) await client.query(sql)
  await client.query('ALTER TABLE records ENABLE TRIGGER USER')
  await client.query('DELETE FROM record_places')
  await client.query('SELECT place_records()')
  await client.query('UPDATE accounts SET pins = pins + $1, expiring_pins = 1 WHERE id = $2', [records, account])
  // As autovacuum does soon after so many insertions.
  await client.query('VACUUM ANALYZE records')
}

/**
 * Gives the records of a filled database to all the accounts in turns. The first one had them. Their words stay those of
 * the first account, so only common words are found.
 */
export async function spreadPostgres(database: string, accounts: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    await client.query('ALTER TABLE records DISABLE TRIGGER USER')
    await client.query(
      "UPDATE records SET account_id = ($1::text[])[1 + seq % cardinality($1::text[])] WHERE id LIKE 'made%'",
      [accounts],
    )
    await client.query('ALTER TABLE records ENABLE TRIGGER USER')
    await client.query('DELETE FROM record_places')
    await client.query('SELECT place_records()')
    await client.query('UPDATE accounts SET pins = (SELECT COUNT(*) FROM records WHERE account_id = accounts.id)')
    await client.query('VACUUM ANALYZE records')
  } finally {
    await client.end()
  }
}
