import { createHash } from 'node:crypto'
import type { NewRecord, RecordRow } from '../../src/catalogue/records.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { PinStatus, StatusReason } from '../../src/domain/pin-status.ts'
import { folded, metaWord, wordsOfName } from '../../src/domain/search-words.ts'
import type { Sql } from './sql.ts'

export const RECORD_COLUMNS = `id, account_id AS "accountId", cluster_id AS "clusterId", cid, codec, multihash,
  root_id AS "rootId", type, status, status_at AS "statusAt", status_code AS "statusCode",
  status_reason AS "statusReason", fetch_id AS "fetchId", name, original_name AS "originalName",
  custom_name AS "customName", meta, size, dag_size AS "dagSize", charge, expires_at AS "expiresAt",
  created_at AS "createdAt"`

/** Whether a record is live at the instant that a parameter has. */
export function live(now: string): string {
  return `(expires_at IS NULL OR expires_at > ${now})`
}

/** Bytes of a hash that tell records of one account apart. */
const IDENTITY_BYTES = 16

type Identity = Pick<
  NewRecord,
  'clusterId' | 'codec' | 'multihash' | 'expiresAt' | 'name' | 'originalName' | 'customName' | 'meta'
>

/** A record, and what keeps its content. */
export type HeldRecord = RecordRow & { holdId: string | null }

/** The record with what is derived from it. @param list the number of its account's list */
export async function insertRecord(sql: Sql, row: RecordRow, holdId: string | null, list: number): Promise<void> {
  const { id, accountId, clusterId, cid, codec, multihash, rootId, type, status, statusAt, statusCode } = row
  const { statusReason, fetchId, name, originalName, customName, meta, size, dagSize, charge, expiresAt } = row
  await sql.run(
    `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, hold_id, type, status, status_at,
       status_code, status_reason, fetch_id, name, original_name, custom_name, meta, size, dag_size, charge, expires_at,
       created_at, identity, folded_name, words)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
       $24, $25, $26)`,
    [
      id,
      accountId,
      clusterId,
      cid,
      codec,
      multihash,
      rootId,
      holdId,
      type,
      status,
      statusAt,
      statusCode,
      statusReason,
      fetchId,
      name,
      originalName,
      customName,
      meta,
      size,
      dagSize,
      charge,
      expiresAt,
      row.createdAt,
      rowIdentity(row),
      name === null ? null : folded(name),
      wordsOfRecord(list, row),
    ],
  )
}

export async function getRecord(sql: Sql, id: string): Promise<RecordRow | undefined> {
  return sql.first<RecordRow>(`SELECT ${RECORD_COLUMNS} FROM records WHERE id = $1`, [id])
}

/** With what keeps it; nothing else changes it until the transaction ends. */
export async function lockRecords(sql: Sql, ids: readonly string[]): Promise<HeldRecord[]> {
  return sql.all<HeldRecord>(
    `SELECT ${RECORD_COLUMNS}, hold_id AS "holdId" FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
    [ids],
  )
}

/** The live record that another of the same account, cluster, DAG, expiry and names would only repeat. */
export async function identicalRecord(sql: Sql, record: NewRecord, now: number): Promise<RecordRow | undefined> {
  return sql.first<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM records WHERE account_id = $1 AND identity = $2 AND ${live('$3')} LIMIT 1`,
    [record.accountId, rowIdentity(record), now],
  )
}

/** Whether the content of the DAG is held for the account; by a record that has expired but is not yet removed, too. */
export async function hasDag(sql: Sql, accountId: string, dag: { codec: number; multihash: Uint8Array }) {
  const text = `SELECT 1 FROM records
    WHERE account_id = $1 AND multihash = $2 AND codec = $3 AND root_id IS NOT NULL LIMIT 1`
  return (await sql.first(text, [accountId, dag.multihash, dag.codec])) !== undefined
}

/** Returns the record as it is then. */
export async function setStatus(
  sql: Sql,
  id: string,
  to: { status: PinStatus; at: number; reason: StatusReason | null },
): Promise<RecordRow> {
  const row = await sql.first<RecordRow>(
    `UPDATE records SET status = $2, status_at = $3, status_code = $4, status_reason = $5
     WHERE id = $1 RETURNING ${RECORD_COLUMNS}`,
    [id, to.status, to.at, to.reason?.code ?? null, to.reason?.text ?? null],
  )
  if (row === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} has gone`)
  return row
}

export async function setFetch(sql: Sql, id: string, fetchId: number | null): Promise<void> {
  await sql.run('UPDATE records SET fetch_id = $2 WHERE id = $1', [id, fetchId])
}

/** Another name, or other meta, and all that follows from them. @param list the number of its account's list */
export async function setNames(sql: Sql, record: RecordRow, list: number): Promise<void> {
  const { id, name, customName, meta } = record
  await sql.run(
    `UPDATE records SET name = $2, custom_name = $3, meta = $4, identity = $5, folded_name = $6, words = $7
     WHERE id = $1`,
    [id, name, customName, meta, rowIdentity(record), name === null ? null : folded(name), wordsOfRecord(list, record)],
  )
}

/** A hash of all in which a repeat is the same. */
export function rowIdentity(record: Identity): Uint8Array {
  const { clusterId, codec, multihash, expiresAt, name, originalName, customName, meta } = record
  const content = Buffer.from(multihash).toString('hex')
  const all = [clusterId, codec, content, expiresAt, name, originalName, customName, meta]
  return createHash('sha256').update(JSON.stringify(all)).digest().subarray(0, IDENTITY_BYTES)
}

/** By which it is found. @param list the number of its account's list */
export function wordsOfRecord(list: number, { name, meta }: Pick<RecordRow, 'name' | 'meta'>): string[] {
  const words = name === null ? new Set<string>() : wordsOfName(list, name)
  const told = meta === null ? {} : (JSON.parse(meta) as Record<string, string>)
  for (const [key, value] of Object.entries(told)) words.add(metaWord(list, key, value))
  return [...words]
}
