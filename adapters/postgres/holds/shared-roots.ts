import { HoldfastError } from '../../../src/domain/errors.ts'
import type { WholeDag } from '../../../src/ledger/whole-dag.ts'
import type { Sql } from '../database/sql.ts'

/** Columns of {@link RootFound}. */
export const ROOT = `id, dag_size AS "dagSize", charge, content_size AS "contentSize", listed, EXISTS (
  SELECT 1 FROM placements p WHERE p.multihash = roots.multihash AND p.codec = roots.codec
    AND p.backend_id = roots.backend_id AND p.placed) AS "isPlaced"`

/** Columns of an inserted root. */
export const PUT = 'backend_id, codec, multihash, owner, content_size, dag_size, blocks, charge, file_count'
/** Finds the public root of a DAG, or the root of an account. Each kind has an index of its own. */
export const SAME_PUBLIC = `
  ON CONFLICT (multihash, codec, backend_id) WHERE owner = 0 DO UPDATE SET backend_id = excluded.backend_id`
export const SAME_PRIVATE = `
  ON CONFLICT (multihash, codec, backend_id, owner) WHERE owner <> 0 DO UPDATE SET backend_id = excluded.backend_id`

export interface RootFound {
  id: number
  dagSize: number
  charge: number
  contentSize: number
  listed: boolean
  /** True if the root's external backend has the DAG. */
  isPlaced: boolean
}

/** Inserts or finds a root, and locks it until the transaction ends. Nobody can drop the root before it has a hold. */
export async function putRoot(sql: Sql, backend: number, dag: WholeDag): Promise<RootFound> {
  const { codec, multihash, owner, contentSize, dagSize, blocks, charge, fileCount } = dag
  const root = await sql.first<RootFound>(
    `INSERT INTO roots (${PUT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ${owner === 0 ? SAME_PUBLIC : SAME_PRIVATE} RETURNING ${ROOT}`,
    [backend, codec, multihash, owner, contentSize, dagSize, blocks, charge, fileCount],
  )
  if (root === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the inserted row was not returned')
  return root
}

/** Drops the roots without holds. Marks their placements as unwanted, and their files for deletion. */
export async function dropUnheld(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  // A transaction that places a hold locks the root's row. After this lock, the query below sees every hold.
  await sql.run(
    'SELECT 1 FROM roots WHERE id = ANY($1) ORDER BY owner <> 0, multihash, codec, backend_id, owner FOR UPDATE',
    [ids],
  )
  const gone = await sql.all<{ id: number }>(
    `WITH gone AS (
       DELETE FROM roots WHERE id = ANY($1)
         AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.root_id = roots.id AND holds.state <> 'void')
       RETURNING id, backend_id, codec, multihash, file_count
     ), unwanted AS (
       UPDATE placements p SET wanted = FALSE, placed = FALSE, generation = generation + 1
       FROM gone WHERE p.multihash = gone.multihash AND p.codec = gone.codec AND p.backend_id = gone.backend_id
         AND p.wanted
       RETURNING p.id, p.backend_id, p.account_id
     ), queued AS (
       INSERT INTO jobs (kind, key, queue, account_id, due_at)
       SELECT 'placement', id, backend_id::text, account_id, 0 FROM unwanted
       ON CONFLICT (kind, key) DO UPDATE SET due_at = 0, attempts = 0, leased_until = NULL
     )
     SELECT id FROM gone WHERE file_count > 0`,
    [ids],
  )
  if (gone.length === 0) return
  await sql.run('INSERT INTO roots_gone SELECT unnest($1::bigint[])', [gone.map(({ id }) => id)])
}
