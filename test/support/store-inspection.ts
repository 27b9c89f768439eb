import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { Database } from '../../src/storage/database.ts'
import { blockFileOf } from './block-place.ts'
import { filesIn } from './temp-dir.ts'

const TABLES = ['roots', 'blocks', 'small_blocks', 'root_blocks', 'root_files', 'garbage', 'records'] as const

/** Number of rows in each table of the content ledger, and of files beside it. */
export type StoreSizes = Record<(typeof TABLES)[number] | 'blockFiles' | 'tempFiles', number>

export const EMPTY: StoreSizes = {
  roots: 0,
  blocks: 0,
  small_blocks: 0,
  root_blocks: 0,
  root_files: 0,
  garbage: 0,
  records: 0,
  blockFiles: 0,
  tempFiles: 0,
}

/** Runs with its own connection to the database of a data directory. */
export function withDatabase<T>(dataDir: string, run: (db: Database) => T): T {
  const db = new Database(join(dataDir, 'holdfast.db'))
  try {
    return run(db)
  } finally {
    db.close()
  }
}

export async function storeSizes(dataDir: string): Promise<StoreSizes> {
  const counts = withDatabase(dataDir, db =>
    TABLES.map(table => {
      const count = db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${table}`)
      return [table, count.get()?.count ?? 0] as const
    }),
  )
  const blockFiles = (await filesIn(join(dataDir, 'blocks'))).length
  const tempFiles = (await filesIn(join(dataDir, 'tmp'))).length
  return { ...EMPTY, ...Object.fromEntries(counts), blockFiles, tempFiles }
}

/** Returns block files without a durable row, and rows without a file. */
export async function strayBlocks(dataDir: string, backendId = 0): Promise<{ files: string[]; rows: string[] }> {
  const rows = withDatabase(dataDir, db =>
    db
      .prepare<[number], { multihash: Uint8Array; state: string }>(
        'SELECT multihash, state FROM blocks WHERE inline = 0 AND backend_id = ?',
      )
      .all(backendId),
  )
  const owned = new Map(rows.map(row => [blockFileOf(CID.createV1(0x55, Digest.decode(row.multihash))), row.state]))
  const there = new Set(await filesIn(join(dataDir, 'blocks')))
  return {
    files: [...there].filter(file => owned.get(file) !== 'durable'),
    rows: [...owned.keys()].filter(file => !there.has(file)),
  }
}
