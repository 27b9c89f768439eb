import type { RecordRow } from '../../src/catalogue/records.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import { ContentChange, type ContentParts } from './content-change.ts'
import type { Postgres } from './postgres.ts'
import { getRecord, live, lockRecords } from './record-rows.ts'
import type { Sql } from './sql.ts'
import { outcomeUnknown } from './statement-failure.ts'

/** Records that one transaction removes. */
const STEP = 50
/** A removal that is noted for longer, in milliseconds, is finished by whoever comes by: who began it may be gone. */
const LATE_MS = 60_000

interface Removal {
  accountId: string
  dag: DagIdentity
  /** Null for all clusters. */
  clusterId: string | null
  /** Records made later stay. */
  createdBy: number
}

/** Records that go, in transactions of a few, with what kept their content. */
export class RecordRemovals {
  readonly #parts: ContentParts
  readonly #database: Postgres

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#database = parts.database
  }

  /** As `Records.remove`. */
  async remove(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
  }): Promise<RecordRow[]> {
    const removal: Removal = { ...request, createdBy: request.now }
    const { accountId, dag, clusterId } = request
    const { rows, id } = await this.#database.transaction(async sql => {
      const removed = await this.#removeSome(sql, removal)
      const isMore = removed.length === STEP && (await this.#ofRemoval(sql, removal, 1)).length > 0
      if (!isMore) return { rows: removed, id: null }
      const noted = await sql.first<{ id: number }>(
        `INSERT INTO removals (account_id, codec, multihash, cluster_id, created_by) VALUES ($1, $2, $3, $4, $5)
         RETURNING id`,
        [accountId, dag.codec, dag.multihash, clusterId, request.now],
      )
      return { rows: removed, id: noted?.id ?? null }
    }, accountId)
    if (id !== null) for (const row of await this.#rest({ ...removal, id })) rows.push(row)
    await this.#letGo()
    return rows
  }

  /** As `Records.discard`. */
  async discard(id: string): Promise<boolean> {
    const known = await getRecord(this.#database.reading, id)
    if (known === undefined) return false
    const { accountId } = known
    const rows = await this.#database.transaction(
      sql => this.#removeThese(sql, [accountId], async () => [id]),
      accountId,
    )
    await this.#letGo()
    return rows.length > 0
  }

  /** As `Records.expire`. */
  async expire(now: number, limit: number): Promise<RecordRow[]> {
    await this.#finishNoted(now - LATE_MS)
    const ended = await this.#database.reading.all<{ id: string; accountId: string }>(
      `SELECT id, account_id AS "accountId" FROM records WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`,
      [now, Math.min(limit, STEP)],
    )
    if (ended.length === 0) return []
    const rows = await this.#database.transaction(async sql => {
      const accounts = ended.map(({ accountId }) => accountId)
      // Another node may have taken some of them meanwhile.
      return this.#removeThese(sql, accounts, async () => ended.map(({ id }) => id))
    })
    await this.#letGo()
    return rows
  }

  /** As `Records.finishRemovals`. */
  async finishRemovals(): Promise<void> {
    await this.#finishNoted(Number.MAX_SAFE_INTEGER)
    await this.#letGo()
  }

  /** Finishes what was noted before an instant. */
  async #finishNoted(before: number): Promise<void> {
    for (;;) {
      const next = await this.#database.reading.first<Omit<Removal, 'dag'> & DagIdentity & { id: number }>(
        `SELECT id, account_id AS "accountId", codec, multihash, cluster_id AS "clusterId", created_by AS "createdBy"
         FROM removals WHERE created_by < $1 ORDER BY id LIMIT 1`,
        [before],
      )
      if (next === undefined) return
      const { codec, multihash, ...removal } = next
      await this.#finish({ ...removal, dag: { codec, multihash } })
    }
  }

  /**
   * Finishes a removal that this call has noted. A noted removal happens, so `UNAVAILABLE`, which says that nothing has
   * happened, becomes `OUTCOME_UNKNOWN`. Every other error keeps its cause and its code.
   */
  async #rest(removal: Removal & { id: number }): Promise<RecordRow[]> {
    try {
      return await this.#finish(removal)
    } catch (error) {
      throw isHoldfastError(error, 'UNAVAILABLE') ? outcomeUnknown(error) : error
    }
  }

  /** The rest of a removal that is noted; it is forgotten with the last record. */
  async #finish(removal: Removal & { id: number }): Promise<RecordRow[]> {
    const removed: RecordRow[] = []
    for (;;) {
      const rows = await this.#database.transaction(async sql => {
        const some = await this.#removeSome(sql, removal)
        if (some.length < STEP) await sql.run('DELETE FROM removals WHERE id = $1', [removal.id])
        return some
      }, removal.accountId)
      for (const row of rows) removed.push(row)
      if (rows.length < STEP) return removed
    }
  }

  #removeSome(sql: Sql, removal: Removal): Promise<RecordRow[]> {
    return this.#removeThese(sql, [removal.accountId], () => this.#ofRemoval(sql, removal, STEP))
  }

  /** @param found looks for the ids of records, once the rows of their accounts are locked. @returns those that were there */
  async #removeThese(sql: Sql, accounts: readonly string[], found: () => Promise<string[]>): Promise<RecordRow[]> {
    const change = await ContentChange.begin(sql, this.#parts, accounts)
    const ids = await found()
    const records = await lockRecords(sql, ids)
    await change.remove(records)
    await change.accounts.write()
    return records.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)).map(withoutHold)
  }

  async #ofRemoval(sql: Sql, { accountId, dag, clusterId, createdBy }: Removal, limit: number): Promise<string[]> {
    const found = await sql.all<{ id: string }>(
      `SELECT id FROM records
       WHERE account_id = $1 AND multihash = $2 AND codec = $3 AND ${live('$4')} AND created_at <= $4
         AND ($5::text IS NULL OR cluster_id = $5) ORDER BY created_at DESC, id DESC LIMIT $6`,
      [accountId, dag.multihash, dag.codec, createdBy, clusterId, limit],
    )
    return found.map(({ id }) => id)
  }

  /** What was removed is removed, whether the ledger can let go of it now or later. */
  async #letGo(): Promise<void> {
    await this.#parts.holds.letGo().catch(() => undefined)
  }
}

function withoutHold({ holdId: _, ...row }: RecordRow & { holdId: string | null }): RecordRow {
  return row
}
