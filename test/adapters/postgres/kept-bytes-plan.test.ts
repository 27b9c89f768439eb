import { expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

const ROWS = 2_000
const SEED = `
  INSERT INTO accounts (id, email, email_key, plan, role, disabled, created_at) VALUES ('a', 'a', 'a', 'free', 'user', FALSE, 0);
  INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, size,
      dag_size, charge, created_at, identity, words)
    SELECT 'r' || n, 'a', 'near', 'cid', 85, decode(md5(n::text), 'hex'), NULL, 'file', 'pinned', 0, 0, 0, 512, n,
      decode(md5(n::text), 'hex'), '{}' FROM generate_series(1, ${ROWS}) n`

let database: Postgres
emptiedDatabase(opened => {
  database = opened
})

test('a change of many records compares each of them once', needsPostgres, async () => {
  const client = await database.connection()
  try {
    for (const statement of SEED.split(';')) await client.query({ text: statement })
    const plans: string[] = []
    client.on('notice', notice => plans.push(notice.message ?? ''))
    for (const setting of [
      `LOAD 'auto_explain'`,
      'SET auto_explain.log_min_duration = 0',
      'SET auto_explain.log_analyze = on',
      'SET auto_explain.log_nested_statements = on',
      'SET auto_explain.log_timing = off',
      'SET client_min_messages = log',
    ])
      await client.query({ text: setting })
    // The first, small change decides the plans of all later ones.
    await client.query({ text: `UPDATE records SET root_id = 1 WHERE id = 'r1'` })
    plans.length = 0
    await client.query({ text: 'UPDATE records SET root_id = 1 WHERE root_id IS NULL' })
    const scans = plans.join('\n').match(/Named Tuplestore Scan.*loops=\d+/g) ?? []
    expect(scans.length).toBeGreaterThan(0)
    expect(scans.filter(scan => Number(/loops=(\d+)/.exec(scan)?.[1]) > 1)).toEqual([])
    expect(plans.filter(plan => /Rows Removed by Join Filter/.test(plan))).toEqual([])
  } finally {
    client.release(true)
  }
})

test('without statistics, a look-up of content reads no other content', needsPostgres, async () => {
  const client = await database.connection()
  try {
    for (const statement of SEED.split(';')) await client.query({ text: statement })
    const text = `EXPLAIN SELECT 1 FROM records r
      WHERE r.account_id = 'a' AND r.multihash = '\\x00' AND r.codec = 85 AND r.root_id IS NOT NULL`
    const { rows } = await client.query<{ 'QUERY PLAN': string }>({ text })
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/records_with_content/)
  } finally {
    client.release(true)
  }
})
