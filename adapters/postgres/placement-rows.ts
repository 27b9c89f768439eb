import type { NewRecord } from '../../src/catalogue/records.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
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
     -- What was left to it and is here all the same is sent to it as everything else.
     WHERE NOT p.wanted OR (NOT p.placed AND p.due_at IS NULL)`,
    [backendId, codec, multihash, accountId, now],
  )
  const text = 'SELECT placed FROM placements WHERE multihash = $1 AND codec = $2 AND backend_id = $3 FOR SHARE'
  return (await sql.first<{ placed: boolean }>(text, [multihash, codec, backendId]))?.placed === true
}

/** Has a backend let go of a DAG, unless that is recorded as whole: of a fetch that is given up, as part of a transaction. */
export async function withdrawPlacement(sql: Sql, backendId: number, { multihash, codec }: DagIdentity): Promise<void> {
  await sql.run(
    `UPDATE placements SET wanted = FALSE, placed = FALSE, generation = generation + 1, attempts = 0, due_at = 0,
       leased_until = NULL
     WHERE multihash = $1 AND codec = $2 AND backend_id = $3 AND wanted AND NOT EXISTS (
       SELECT 1 FROM roots WHERE multihash = $1 AND codec = $2 AND backend_id = $3)`,
    [multihash, codec, backendId],
  )
}
