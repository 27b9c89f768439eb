import type { DagIdentity } from '../../domain/cid.ts'
import type { StatusChange } from '../fetches.ts'
import type { PlacementKey, PlacementRow, Placements } from '../placements.ts'
import type { RecordRow } from '../records.ts'
import { free } from './leased.ts'
import type { Postgres } from './postgres.ts'
import { RECORD_COLUMNS } from './record-rows.ts'
import type { Sql } from './sql.ts'

/** Records that one transaction changes. */
const STEP = 50
const COLUMNS = `id, backend_id AS "backendId", codec, multihash, account_id AS "accountId", wanted AS "isWanted",
  generation, placed AS "isPlaced", attempts, due_at AS "dueAt", last_error AS "lastError",
  unpin_until AS "unpinUntil"`
/** After which a node that is at a row is taken for gone; what it does late is told by the generation. */
const LEASE = `INTERVAL '10 minutes'`

/** Placements in PostgreSQL. */
export class PostgresPlacements implements Placements {
  readonly #database: Postgres
  readonly #node: string

  /** @param node by which this process is known to others at work on the same catalogue */
  constructor(database: Postgres, node: string) {
    this.#database = database
    this.#node = node
  }

  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM placements WHERE multihash = $1 AND codec = $2 AND backend_id = $3`
    return this.#database.reading.first<PlacementRow>(text, [dag.multihash, dag.codec, backendId])
  }

  async due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    placements: PlacementRow[]
    last: string | null
  }> {
    const { reading } = this.#database
    const { backendId, now, each } = query
    const placements: PlacementRow[] = []
    let last: string | null = query.after
    for (let looked = 0; looked < query.accounts; looked++) {
      const next: { accountId: string } | undefined = await reading.first<{ accountId: string }>(
        `SELECT account_id AS "accountId" FROM placements
         WHERE due_at IS NOT NULL AND backend_id = $1 AND account_id > $2 ORDER BY account_id LIMIT 1`,
        [backendId, last],
      )
      last = next?.accountId ?? null
      if (last === null) break
      const found = await reading.all<PlacementRow>(
        `SELECT ${COLUMNS} FROM placements
         WHERE due_at IS NOT NULL AND backend_id = $1 AND account_id = $2 AND due_at <= $3 AND ${free('$5')}
         ORDER BY due_at LIMIT $4`,
        [backendId, last, now, each, this.#node],
      )
      placements.push(...found)
    }
    return { placements, last }
  }

  async nextDue(backendId: number): Promise<number | null> {
    const text = `SELECT due_at AS at FROM placements WHERE due_at IS NOT NULL AND backend_id = $1 AND ${free('$2')}
      ORDER BY due_at LIMIT 1`
    return (await this.#database.reading.first<{ at: number }>(text, [backendId, this.#node]))?.at ?? null
  }

  /** Undefined also while another node is at it. */
  begin({ id, generation }: PlacementKey): Promise<PlacementRow | undefined> {
    return this.#database.transaction(sql =>
      sql.first<PlacementRow>(
        `UPDATE placements SET attempts = attempts + 1, leased_by = $3, leased_until = clock_timestamp() + ${LEASE}
         WHERE id = (
           SELECT id FROM placements WHERE id = $1 AND generation = $2 AND ${free('$3')} FOR UPDATE SKIP LOCKED)
         RETURNING ${COLUMNS}`,
        [id, generation, this.#node],
      ),
    )
  }

  async beginUnpin({ id, generation }: PlacementKey, until: number): Promise<boolean> {
    const text = 'UPDATE placements SET unpin_until = $3 WHERE id = $1 AND generation = $2 AND NOT wanted'
    return (await this.#database.command(text, [id, generation, until])) === 1
  }

  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }> {
    return this.#database.transaction(async sql => {
      const row = await current(sql, key)
      const root = row?.isWanted === true ? await rootOf(sql, row) : undefined
      if (row === undefined || root === undefined) return { changes: [], isDone: true }
      if (!row.isPlaced) {
        const text = `UPDATE placements SET placed = TRUE, due_at = NULL, last_error = NULL, leased_until = NULL
          WHERE id = $1`
        await sql.run(text, [row.id])
      }
      // What is being removed holds its row, and waits for this one.
      const rows = await sql.all<RecordRow>(
        `UPDATE records SET status = 'pinned', status_at = $2, status_code = NULL, status_reason = NULL
         WHERE id = ANY(ARRAY(
           SELECT id FROM records WHERE status = 'pinning' AND root_id = $1 LIMIT $3 FOR UPDATE SKIP LOCKED))
         RETURNING ${RECORD_COLUMNS}`,
        [root.id, now, STEP],
      )
      const left = `SELECT 1 FROM records WHERE status = 'pinning' AND root_id = $1 LIMIT 1`
      const isDone = (await sql.first(left, [root.id])) === undefined
      return { changes: rows.map(record => ({ record, from: 'pinning' as const })), isDone }
    })
  }

  released({ id, generation }: PlacementKey, { now, until }: { now: number; until: number }): Promise<void> {
    return this.#database.transaction(async sql => {
      const row = await locked(sql, id)
      if (row === undefined) return
      const isOver = !row.isWanted && row.generation === generation && until <= now
      if (isOver) await sql.run('DELETE FROM placements WHERE id = $1', [id])
      else {
        await sql.run(
          `UPDATE placements SET unpin_until = $2, due_at = $3, leased_until = NULL WHERE id = $1 AND NOT placed`,
          [id, until > now ? until : 0, Math.max(now, until)],
        )
      }
    })
  }

  async retry({ id, generation }: PlacementKey, { at, reason }: { at: number; reason: string | null }): Promise<void> {
    await this.#database.command(
      `UPDATE placements SET due_at = $3, last_error = $4, leased_until = NULL WHERE id = $1 AND generation = $2`,
      [id, generation, at, reason],
    )
  }
}

function locked(sql: Sql, id: number): Promise<PlacementRow | undefined> {
  return sql.first<PlacementRow>(`SELECT ${COLUMNS} FROM placements WHERE id = $1 FOR UPDATE`, [id])
}

async function current(sql: Sql, { id, generation }: PlacementKey): Promise<PlacementRow | undefined> {
  const row = await locked(sql, id)
  return row?.generation === generation ? row : undefined
}

function rootOf(sql: Sql, { multihash, codec, backendId }: PlacementRow): Promise<{ id: number } | undefined> {
  const text = 'SELECT id FROM roots WHERE multihash = $1 AND codec = $2 AND backend_id = $3'
  return sql.first<{ id: number }>(text, [multihash, codec, backendId])
}
