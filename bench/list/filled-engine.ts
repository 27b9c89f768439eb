import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { createEngine, type Engine } from '../../src/index.ts'
import { addSearchFunctions } from '../../src/storage/search-function.ts'

const RAW = 0x55
/** Number of records that a search finds, at any size. */
export const FOUND = 10
export const SAMPLES = 20
const FILES = 50
/** Value of `ends` for a hold without an end. */
const FOR_EVER = Number.MAX_SAFE_INTEGER

export interface FilledEngine {
  engine: Engine
  account: string
  /** Root of a directory that is one of the records. */
  parent: string
  /** CIDs of other records, spread over all, to delete one by one. */
  cids: string[]
}

/**
 * Starts an engine with this many records, one of which expires. They are inserted directly, because uploads would take
 * hours. The caller stops the engine.
 */
export async function filledStore(dataDir: string, records: number, samples: number): Promise<FilledEngine> {
  const first = await createEngine({ dataDir })
  const { id: account } = await first.accounts.create({ email: 'list@example.org', plan: 'unlimited' })
  const { record } = await first.pins.uploadDirectory(someFiles(), { account, name: 'a directory' })
  await first.stop()
  const cids = fill(join(dataDir, 'holdfast.db'), { account, records: records - 1, samples })
  return { engine: await createEngine({ dataDir }), account, parent: record.cid, cids }
}

async function* someFiles() {
  for (let i = 0; i < FILES; i++) yield { kind: 'file' as const, path: `f${i}`, content: Buffer.from(`file ${i}`) }
}

function fill(file: string, what: { account: string; records: number; samples: number }): string[] {
  const { account, records, samples } = what
  const db = new BetterSqlite3(file)
  try {
    db.pragma('synchronous = OFF')
    addSearchFunctions(db)
    db.function('cid_of', (multihash: Buffer) => CID.createV1(RAW, Digest.decode(multihash)).toString())
    const now = Date.now()
    db.transaction(() => {
      db.exec(`
        CREATE TEMP TABLE made AS
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${records})
        SELECT i, CAST(X'1220' || randomblob(32) AS BLOB) AS multihash FROM n;
        CREATE TEMP TABLE start AS SELECT COALESCE(MAX(id), 0) AS root FROM roots;
        INSERT INTO roots (id, backend_id, state, codec, multihash, content_size, dag_size, created_at, blocks, charge)
        SELECT start.root + i, 0, 'complete', ${RAW}, multihash, 1000, 1000, ${now} - i, 1, 1000 FROM made, start;
        INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, name, meta,
          size, dag_size, charge, expires_at, created_at, search_id)
        SELECT printf('made-%09d', i), '${account}', 'cl0-global', cid_of(multihash), ${RAW}, multihash,
          start.root + i, 'file', 'pinned', ${now} - i, 'file ' || i || CASE WHEN i % ${Math.ceil(records / FOUND)} = 1 THEN ' needle' ELSE '' END,
          CASE WHEN i % ${Math.ceil(records / FOUND)} = 1 THEN '{"found":"yes"}' END, 1000, 1000, 1000,
          CASE i WHEN ${Math.ceil(records / 2)} THEN ${now} + 86400000 END, ${now} - i,
          (SELECT number * 4294967296 + last FROM search_lists WHERE account_id = '${account}') + ${records} + 1 - i
        FROM made, start ORDER BY i DESC;
        UPDATE search_lists SET last = last + ${records}, run = last + 1 WHERE account_id = '${account}';
        INSERT INTO holds (id, root_id, ends) SELECT id, root_id, COALESCE(expires_at, ${FOR_EVER}) FROM records
        WHERE id LIKE 'made-%';
        INSERT INTO record_search (rowid, words)
        SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
        FROM records WHERE id LIKE 'made-%' ORDER BY search_id;
        INSERT INTO record_search (record_search) VALUES ('optimize');
        DELETE FROM search_pending WHERE search_id IN (SELECT search_id FROM records WHERE id LIKE 'made-%');
        UPDATE accounts SET pins = pins + ${records}, expiring_pins = 1, stored_bytes = stored_bytes + 1000 * ${records}
        WHERE id = '${account}';
      `)
    })()
    const step = Math.max(1, Math.floor(records / samples))
    const picked = db
      .prepare<[number, number], { cid: string }>(
        `SELECT r.cid FROM made m JOIN records r ON r.id = printf('made-%09d', m.i)
         WHERE m.i % ? = 1 AND r.expires_at IS NULL LIMIT ?`,
      )
      .all(step, samples)
    db.exec('DROP TABLE made; DROP TABLE start')
    return picked.map(({ cid }) => cid)
  } finally {
    db.close()
  }
}

/** Gives the records of a filled store to all the accounts in turns. The first one had them. No engine is running. */
export function spreadStore(dataDir: string, accounts: readonly string[]): void {
  const db = new BetterSqlite3(join(dataDir, 'holdfast.db'))
  try {
    db.pragma('synchronous = OFF')
    addSearchFunctions(db)
    db.transaction(() => {
      db.exec(`
        CREATE TEMP TABLE own (at INTEGER PRIMARY KEY, id TEXT, list INTEGER);
        CREATE TEMP TABLE given AS
        SELECT rowid AS record, ROW_NUMBER() OVER (ORDER BY search_id) AS n FROM records WHERE id LIKE 'made-%'`)
      const start = db.prepare('INSERT OR IGNORE INTO search_lists (account_id, last, newest) VALUES (?, 0, 0)')
      const own = db.prepare('INSERT INTO own SELECT ?, account_id, number FROM search_lists WHERE account_id = ?')
      for (const [at, id] of accounts.entries()) {
        start.run(id)
        own.run(at, id)
      }
      const n = `${accounts.length}`
      db.exec(`
        UPDATE records SET account_id = own.id, search_id = own.list * 4294967296 + 1000000 + given.n / ${n}
        FROM given JOIN own ON own.at = given.n % ${n} WHERE given.record = records.rowid;
        UPDATE search_lists SET last = 1000000 + (SELECT COUNT(*) FROM given) / ${n} + 1
        WHERE account_id IN (SELECT id FROM own);
        UPDATE accounts SET pins = (SELECT COUNT(*) FROM records WHERE account_id = accounts.id);
        INSERT INTO record_search (record_search) VALUES ('delete-all');
        INSERT INTO record_search (rowid, words)
        SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
        FROM records ORDER BY search_id;
        DELETE FROM search_pending;
        DROP TABLE own; DROP TABLE given`)
    })()
  } finally {
    db.close()
  }
}
