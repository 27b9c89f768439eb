import type { NewRecord } from '../records.ts'
import type { Sql } from './sql.ts'

/** Has a backend keep a DAG, as part of a transaction. Returns whether it is known to do so already. */
export async function wantPlacement(sql: Sql, backendId: number, record: NewRecord, now: number): Promise<boolean> {
  const { codec, multihash, accountId } = record
  await sql.run(
    `INSERT INTO placements AS p (backend_id, codec, multihash, account_id, wanted, generation, due_at, wanted_at)
     VALUES ($1, $2, $3, $4, TRUE, 1, $5, $5)
     ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET
       account_id = excluded.account_id, wanted = TRUE, generation = p.generation + 1, placed = FALSE, attempts = 0,
       due_at = GREATEST(excluded.due_at, p.unpin_until), last_error = NULL, leased_until = NULL,
       anew = FALSE, wanted_at = excluded.wanted_at
     WHERE NOT p.wanted`,
    [backendId, codec, multihash, accountId, now],
  )
  const text = 'SELECT placed FROM placements WHERE multihash = $1 AND codec = $2 AND backend_id = $3 FOR SHARE'
  return (await sql.first<{ placed: boolean }>(text, [multihash, codec, backendId]))?.placed === true
}
