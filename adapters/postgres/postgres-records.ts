import type { Page, PageRequest } from '../../src/catalogue/page.ts'
import type {
  AccountUsage,
  CommitIntent,
  Committed,
  RecordFilter,
  RecordRow,
  Records,
  RenameRequest,
} from '../../src/catalogue/records.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import type { ContentParts } from './content-change.ts'
import { COUNTERS, liveUsage } from './locked-accounts.ts'
import type { Postgres } from './postgres.ts'
import { RecordCommits } from './record-commits.ts'
import { RecordLists } from './record-lists.ts'
import { RecordRemovals } from './record-removals.ts'
import { getRecord, live, RECORD_COLUMNS, setNames } from './record-rows.ts'
import type { Sql } from './sql.ts'

/** Records in PostgreSQL, whose content the ledgers of nodes hold. */
export class PostgresRecords implements Records {
  readonly #database: Postgres
  readonly #sql: Sql
  readonly #commits: RecordCommits
  readonly #removals: RecordRemovals
  readonly #lists: RecordLists

  constructor(parts: ContentParts) {
    this.#database = parts.database
    this.#sql = parts.database.reading
    this.#commits = new RecordCommits(parts)
    this.#removals = new RecordRemovals(parts)
    this.#lists = new RecordLists(parts.database)
  }

  commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]> {
    return this.#commits.commit(intents, token)
  }

  remove(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
  }): Promise<RecordRow[]> {
    return this.#removals.remove(request)
  }

  discard(id: string): Promise<boolean> {
    return this.#removals.discard(id)
  }

  expire(now: number, limit: number): Promise<RecordRow[]> {
    return this.#removals.expire(now, limit)
  }

  finishRemovals(): Promise<void> {
    return this.#removals.finishRemovals()
  }

  rename({ id, accountId, name, meta, now }: RenameRequest): Promise<boolean> {
    return this.#database.transaction(async sql => {
      const record = await sql.first<RecordRow & { list: number }>(
        `SELECT ${RECORD_COLUMNS}, (SELECT seq FROM accounts WHERE accounts.id = account_id) AS list
         FROM records WHERE id = $1 AND account_id = $2 AND ${live('$3')} FOR UPDATE`,
        [id, accountId, now],
      )
      if (record === undefined) return false
      const named = { name: name ?? record.name, customName: name ?? record.customName }
      await setNames(sql, { ...record, ...named, meta: meta === undefined ? record.meta : meta }, record.list)
      return true
    })
  }

  get(id: string): Promise<RecordRow | undefined> {
    return getRecord(this.#sql, id)
  }

  ofDag(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
    limit: number
  }): Promise<RecordRow[]> {
    const { accountId, dag, clusterId, now, limit } = request
    return this.#sql.all<RecordRow>(
      `SELECT ${RECORD_COLUMNS} FROM records
       WHERE account_id = $1 AND multihash = $2 AND codec = $3 AND ${live('$4')}
         AND ($5::text IS NULL OR cluster_id = $5) ORDER BY created_at DESC, id DESC LIMIT $6`,
      [accountId, dag.multihash, dag.codec, now, clusterId, limit],
    )
  }

  newestOf(query: {
    accountId: string
    dag: DagIdentity
    hasExpiration: boolean
    now: number
  }): Promise<RecordRow | undefined> {
    const { accountId, dag, hasExpiration, now } = query
    return this.#sql.first<RecordRow>(
      `SELECT ${RECORD_COLUMNS} FROM records
       WHERE account_id = $1 AND multihash = $2 AND codec = $3 AND ${live('$4')}
         AND (NOT $5::boolean OR expires_at IS NOT NULL) ORDER BY created_at DESC, id DESC LIMIT 1`,
      [accountId, dag.multihash, dag.codec, now, hasExpiration],
    )
  }

  async usage(accountId: string, now: number): Promise<AccountUsage> {
    const text = `SELECT ${COUNTERS} FROM accounts WHERE id = $1`
    const none = { pins: 0, expiringPins: 0, storedBytes: 0 }
    return liveUsage(this.#sql, accountId, (await this.#sql.first<AccountUsage>(text, [accountId])) ?? none, now)
  }

  page(filter: RecordFilter, offset: number, limit: number): Promise<{ rows: RecordRow[]; total: number }> {
    return this.#lists.page(filter, offset, limit)
  }

  walk(filter: RecordFilter, page: PageRequest): Promise<Page<RecordRow>> {
    return this.#lists.walk(filter, page)
  }

  async nextExpiry(): Promise<number | null> {
    const text = `SELECT expires_at AS at FROM records WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1`
    return (await this.#sql.first<{ at: number }>(text))?.at ?? null
  }
}
