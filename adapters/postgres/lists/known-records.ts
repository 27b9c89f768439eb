import type { NewRecord, RecordRow } from '../../../src/catalogue/records.ts'
import type { DagIdentity } from '../../../src/ipld/cid.ts'
import type { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import type { Sql } from '../database/sql.ts'
import { TAKES_CONTENT } from '../nodes/node-states.ts'
import { hasDag, identicalRecord, live, RECORD_COLUMNS, rowIdentity } from './record-rows.ts'

const KNOWN = `
  SELECT (SELECT 1 FROM records WHERE account_id = wanted.account_id AND multihash = wanted.multihash
      AND codec = wanted.codec AND root_id IS NOT NULL LIMIT 1) IS NOT NULL AS "hasDag", identical.*
  FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[])
    WITH ORDINALITY AS wanted (account_id, multihash, codec, identity, now, n)
  LEFT JOIN LATERAL (
    SELECT ${RECORD_COLUMNS}, ${TAKES_CONTENT} AS "takesContent",
      (SELECT id FROM holds WHERE id = records.hold_id AND node = $6) AS "ownHold" FROM records
    WHERE account_id = wanted.account_id AND identity = wanted.identity AND ${live('wanted.now')} LIMIT 1
  ) AS identical ON TRUE ORDER BY wanted.n`

type Found = { hasDag: boolean; takesContent: boolean | null; ownHold: string | null } & (
  | { [Field in keyof RecordRow]: null }
  | RecordRow
)

/**
 * Answers about the records of locked accounts. One statement reads them for all commits of a transaction, and each
 * commit adds the record that it inserts. Other questions are statements.
 */
export class KnownRecords {
  readonly #sql: Sql
  readonly #node: string
  readonly #ledger: CatalogueHolds
  readonly #identical = new Map<string, RecordRow | undefined>()
  readonly #hasDag = new Map<string, boolean>()

  constructor(sql: Sql, { node, ledger }: { node: string; ledger: CatalogueHolds }) {
    this.#sql = sql
    this.#node = node
    this.#ledger = ledger
  }

  async read(wanted: ReadonlyArray<{ record: NewRecord; now: number }>): Promise<void> {
    if (wanted.length === 0) return
    const records = wanted.map(({ record }) => record)
    const found = await this.#sql.all<Found>(KNOWN, [
      records.map(({ accountId }) => accountId),
      records.map(({ multihash }) => multihash),
      records.map(({ codec }) => codec),
      records.map(rowIdentity),
      wanted.map(({ now }) => now),
      this.#node,
    ])
    for (const [i, record] of records.entries()) {
      const { hasDag: has = false, takesContent = false, ownHold = null, ...identical } = found[i] ?? {}
      this.#hasDag.set(dagKey(record.accountId, record), has)
      const row = 'id' in identical && identical.id !== null ? identical : undefined
      // An older copy of the node's directory lacks what the node stored later.
      const isMissing = ownHold !== null && this.#ledger.rootOf(ownHold) === null
      // A record that takes content counts as one that waits for it.
      const waits = takesContent === true || isMissing
      this.#identical.set(identityKey(record), row && waits ? { ...row, rootId: null } : row)
    }
  }

  /** Returns the live record that `record` would duplicate. */
  async identical(record: NewRecord, now: number): Promise<RecordRow | undefined> {
    const key = identityKey(record)
    return this.#identical.has(key) ? this.#identical.get(key) : identicalRecord(this.#sql, record, now)
  }

  /** Returns whether {@link read} found a record that waits for its content, and that `record` would duplicate. */
  isAwaited(record: NewRecord): boolean {
    return this.#identical.get(identityKey(record))?.rootId === null
  }

  async hasDag(accountId: string, dag: DagIdentity): Promise<boolean> {
    return this.#hasDag.get(dagKey(accountId, dag)) ?? hasDag(this.#sql, accountId, dag)
  }

  /**
   * Adds a record that the transaction inserts or has fulfilled.
   *
   * @param record the row, or the new record that it was made of
   */
  add(row: RecordRow, record: NewRecord = row): void {
    this.#identical.set(identityKey(record), row)
    if (row.rootId !== null) this.#hasDag.set(dagKey(row.accountId, row), true)
  }
}

function identityKey(record: NewRecord): string {
  return `${record.accountId} ${Buffer.from(rowIdentity(record)).toString('hex')}`
}

function dagKey(accountId: string, { codec, multihash }: DagIdentity): string {
  return `${accountId} ${codec} ${Buffer.from(multihash).toString('hex')}`
}
