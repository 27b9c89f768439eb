import type { StatusChange } from '../../src/catalogue/fetches.ts'
import {
  MOST_WAITING,
  NOBODY,
  type PlacementKey,
  type PlacementLag,
  type PlacementRow,
  type Placements,
} from '../../src/catalogue/placements.ts'
import type { RecordRow } from '../../src/catalogue/records.ts'
import { dueByAccount } from '../../src/catalogue/rules/due-by-account.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import type { CatalogueHolds } from '../../src/ledger/catalogue-holds.ts'
import { BACKEND_ID, LAST_BACKEND, type SharedBackend } from './backends.ts'
import { free } from './leased.ts'
import { withdrawPlacement } from './placement-rows.ts'
import type { Postgres } from './postgres.ts'
import { RECORD_COLUMNS } from './record-rows.ts'
import type { Sql } from './sql.ts'

/** Records that one transaction changes. */
const STEP = 50
const COLUMNS = `id, ${BACKEND_ID} AS "backendId", codec, multihash, account_id AS "accountId", wanted AS "isWanted",
  generation, placed AS "isPlaced", attempts, due_at AS "dueAt", last_error AS "lastError",
  unpin_until AS "unpinUntil", anew AS "isAnew"`
/** After which a node that is at a row is taken for gone; what it does late is told by the generation. */
const LEASE = `INTERVAL '10 minutes'`

/** Placements in PostgreSQL. */
export class PostgresPlacements implements Placements {
  readonly #database: Postgres
  readonly #node: string
  readonly #ledger: CatalogueHolds
  readonly #backend: SharedBackend

  /** @param parts.node by which this process is known to others at work on the same catalogue */
  constructor(
    database: Postgres,
    { node, backend, ledger }: { node: string; backend: SharedBackend; ledger: CatalogueHolds },
  ) {
    this.#database = database
    this.#ledger = ledger
    this.#node = node
    this.#backend = backend
  }

  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM placements WHERE multihash = $1 AND codec = $2 AND backend_id = $3`
    return this.#database.reading.first<PlacementRow>(text, [dag.multihash, dag.codec, this.#backend(backendId)])
  }

  entrust(
    backendId: number,
    { codec, multihash }: DagIdentity,
    { accountId, now }: { accountId: string; now: number },
  ): Promise<PlacementRow> {
    const backend = this.#backend(backendId)
    return this.#database.transaction(async sql => {
      await sql.run(
        `INSERT INTO placements AS p (backend_id, codec, multihash, account_id, wanted, generation, wanted_at)
         VALUES ($1, $2, $3, $4, TRUE, 1, $5)
         ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET
           account_id = excluded.account_id, wanted = TRUE, generation = p.generation + 1, placed = FALSE, attempts = 0,
           due_at = NULL, last_error = NULL, leased_until = NULL, anew = FALSE, wanted_at = excluded.wanted_at
         WHERE NOT p.wanted`,
        [backend, codec, multihash, accountId, now],
      )
      const text = `SELECT ${COLUMNS} FROM placements WHERE multihash = $1 AND codec = $2 AND backend_id = $3 FOR SHARE`
      const row = await sql.first<PlacementRow>(text, [multihash, codec, backend])
      if (row === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the placement has gone')
      return row
    })
  }

  withdraw(backendId: number, dag: DagIdentity): Promise<void> {
    return this.#database.transaction(sql => withdrawPlacement(sql, this.#backend(backendId), dag))
  }

  async due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    placements: PlacementRow[]
    last: string | null
  }> {
    const { reading } = this.#database
    const { now, each } = query
    const backend = this.#backend(query.backendId)
    const next = `SELECT account_id AS "accountId" FROM placements
         WHERE due_at IS NOT NULL AND backend_id = $1 AND account_id > $2 ORDER BY account_id LIMIT 1`
    const due = `SELECT ${COLUMNS} FROM placements
         WHERE due_at IS NOT NULL AND backend_id = $1 AND account_id = $2 AND due_at <= $3 AND ${free('$5')}
         ORDER BY due_at LIMIT $4`
    const { jobs: placements, last } = await dueByAccount(
      query,
      after => reading.first<{ accountId: string }>(next, [backend, after]),
      account => reading.all<PlacementRow>(due, [backend, account, now, each, this.#node]),
    )
    return { placements, last }
  }

  async nextDue(backendId: number): Promise<number | null> {
    const text = `SELECT due_at AS at FROM placements WHERE due_at IS NOT NULL AND backend_id = $1 AND ${free('$2')}
      ORDER BY due_at LIMIT 1`
    return (
      (await this.#database.reading.first<{ at: number }>(text, [this.#backend(backendId), this.#node]))?.at ?? null
    )
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
    // As `NOT wanted` it might go through all of those, which statistics may take for none.
    const text = 'UPDATE placements SET unpin_until = $3 WHERE id = $1 AND generation = $2 AND wanted IS NOT TRUE'
    return (await this.#database.command(text, [id, generation, until])) === 1
  }

  /** It stays due unless the ledger knows as well: what stops in between is done by the next attempt. */
  async placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }> {
    return this.#database.transaction(async sql => {
      const row = await current(sql, key)
      const root = row?.isWanted === true ? await rootOf(sql, this.#backend(row.backendId), row) : undefined
      if (row === undefined || root === undefined) return { changes: [], isDone: true }
      if (!row.isPlaced || row.dueAt !== null) {
        // While the row is locked, so that it is never said of what has ceased to be wanted.
        await this.#ledger.setPlaced(row.backendId, row, now)
        const text = `UPDATE placements SET placed = TRUE, due_at = NULL, last_error = NULL, leased_until = NULL,
            anew = FALSE
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
      const changes = rows.map(record => ({ record, from: 'pinning' as const }))
      return { changes, isDone }
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
          `UPDATE placements SET unpin_until = $2, due_at = $3, leased_until = NULL
           WHERE id = $1 AND NOT placed AND due_at IS NOT NULL`,
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

  /** Of this node's backends. */
  after(id: number, limit: number): Promise<PlacementRow[]> {
    const text = `SELECT ${COLUMNS} FROM placements WHERE id > $1 AND backend_id BETWEEN $3 AND $4 ORDER BY id LIMIT $2`
    return this.#database.reading.all<PlacementRow>(text, [id, limit, this.#backend(0), this.#backend(LAST_BACKEND)])
  }

  async lost(key: PlacementKey, { now, reason }: { now: number; reason: string }): Promise<StatusChange[]> {
    const lost = await this.#database.transaction(async sql => {
      const row = await sql.first<PlacementRow>(
        `UPDATE placements SET placed = FALSE, generation = generation + 1, attempts = 0, due_at = $3, wanted_at = $3,
           last_error = $4, anew = TRUE, leased_until = NULL
         WHERE id = $1 AND generation = $2 AND wanted AND placed RETURNING ${COLUMNS}`,
        [key.id, key.generation, now, reason],
      )
      const root = row && (await rootOf(sql, this.#backend(row.backendId), row))
      if (row !== undefined) await this.#ledger.setPlaced(row.backendId, row, null)
      return root && { row, rootId: root.id }
    })
    if (lost === undefined) return []
    const changes: StatusChange[] = []
    for (let after: string | undefined = ''; after !== undefined; ) {
      const from: string = after
      const step = await this.#database.transaction(sql => waitAgain(sql, { ...lost, from, now, reason }))
      for (const record of step.rows) changes.push({ record, from: 'pinned' })
      after = step.last
    }
    return changes
  }

  async disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean> {
    const text = `INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, due_at)
      VALUES ($1, $2, $3, $4, FALSE, 1, $5) ON CONFLICT DO NOTHING`
    return (await this.#database.command(text, [this.#backend(backendId), dag.codec, dag.multihash, NOBODY, now])) === 1
  }

  async lag(backendId: number): Promise<PlacementLag> {
    const { reading } = this.#database
    const waiting = `SELECT COUNT(*) AS pins, MIN(wanted_at) AS since FROM (
      SELECT wanted_at FROM placements WHERE wanted AND NOT placed AND backend_id = $1 ORDER BY wanted_at LIMIT $2) AS p`
    const leaving = `SELECT COUNT(*) AS unpins FROM (
      SELECT 1 FROM placements WHERE NOT wanted AND backend_id = $1 LIMIT $2) AS p`
    const { pins = 0, since = null } =
      (await reading.first<PlacementLag>(waiting, [this.#backend(backendId), MOST_WAITING])) ?? {}
    const { unpins = 0 } = (await reading.first<PlacementLag>(leaving, [this.#backend(backendId), MOST_WAITING])) ?? {}
    return { pins, unpins, since }
  }
}

function locked(sql: Sql, id: number): Promise<PlacementRow | undefined> {
  return sql.first<PlacementRow>(`SELECT ${COLUMNS} FROM placements WHERE id = $1 FOR UPDATE`, [id])
}

async function current(sql: Sql, { id, generation }: PlacementKey): Promise<PlacementRow | undefined> {
  const row = await locked(sql, id)
  return row?.generation === generation ? row : undefined
}

/** One step of the records of a root, unless it has got there again meanwhile. */
async function waitAgain(
  sql: Sql,
  step: { row: PlacementRow; rootId: number; from: string; now: number; reason: string },
): Promise<{ rows: RecordRow[]; last: string | undefined }> {
  const { row, rootId, from, now, reason } = step
  const placement = await current(sql, row)
  if (placement === undefined || placement.isPlaced) return { rows: [], last: undefined }
  const some = await sql.all<{ id: string }>(
    'SELECT id FROM records WHERE root_id = $1 AND id > $2 ORDER BY id LIMIT $3 FOR UPDATE',
    [rootId, from, STEP],
  )
  const rows = await sql.all<RecordRow>(
    `UPDATE records SET status = 'pinning', status_at = $2, status_code = NULL, status_reason = $3
     WHERE id = ANY($1) AND status = 'pinned' RETURNING ${RECORD_COLUMNS}`,
    [some.map(({ id }) => id), now, reason],
  )
  return { rows, last: some.at(-1)?.id }
}

function rootOf(sql: Sql, backend: number, { multihash, codec }: PlacementRow): Promise<{ id: number } | undefined> {
  const text = 'SELECT id FROM roots WHERE multihash = $1 AND codec = $2 AND backend_id = $3'
  return sql.first<{ id: number }>(text, [multihash, codec, backend])
}
