import { createHash } from 'node:crypto'
import type { NewRecord, RecordRow } from '../../../src/catalogue/records.ts'
import { first, hasUnkept } from '../../../src/catalogue/rules/driver.ts'
import {
  DERIVED,
  GET_RECORD,
  HAS_DAG,
  INSERT_RECORD,
  LIVE_RECORD,
  REPEATED_RECORD,
  record,
  SET_STATUS,
} from '../../../src/catalogue/rules/record-statements.ts'
import type { HeldRecord } from '../../../src/catalogue/rules/removal-rules.ts'
import { columnNames, selectList } from '../../../src/catalogue/rules/statement.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import type { PinStatus, StatusReason } from '../../../src/domain/pin-status.ts'
import { folded, metaWord, wordsOfName } from '../../../src/domain/search-words.ts'
import type { DagIdentity } from '../../../src/ipld/cid.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'

export const RECORD_COLUMNS = selectList(record).postgres
/** Columns of a record with its hold, a HeldRecord. */
export const HELD_COLUMNS = `${RECORD_COLUMNS}, hold_id AS "holdId"`

/** @param now the SQL parameter with the current time, for example `$2` */
export function live(now: string): string {
  return LIVE_RECORD.replace(':now', now)
}

const IDENTITY_BYTES = 16
const FIELDS = Object.keys(record.kinds) as ReadonlyArray<keyof RecordRow>
const COLUMNS = columnNames(record).split(', ')
const INSERTED = `${columnNames(record)}, ${DERIVED.postgres}`
const INSERT_RECORDS = `
  INSERT INTO records (${INSERTED}) SELECT ${INSERTED} FROM json_populate_recordset(NULL::records, $1)`
/** Identities by record, because one commit needs the identity of its record several times. */
const identities = new WeakMap<object, Uint8Array>()

type Identity = Pick<
  NewRecord,
  'clusterId' | 'codec' | 'multihash' | 'expiresAt' | 'name' | 'originalName' | 'customName' | 'meta' | 'owner'
>

export interface InsertedRecord {
  row: RecordRow
  holdId: string | null
  /** The {@link rowIdentity}. */
  identity: Uint8Array
  /** The `seq` of the record's account. */
  list: number
}

/** @throws HoldfastError `VALIDATION` if the catalogue cannot store one of the texts */
export function checkKept(row: RecordRow): void {
  hasUnkept(INSERT_RECORD, Object.values(row))
}

/** Inserts records with one statement. The rows pass as JSON, because their words are arrays of different lengths. */
export async function insertRecords(sql: Sql, records: readonly InsertedRecord[]): Promise<void> {
  if (records.length === 0) return
  // Triggers lock other rows of the accounts in the order of the rows.
  const inOrder = [...Map.groupBy(records, ({ row }) => row.accountId)].sort(byAccount).flatMap(([, own]) => own)
  const rows = inOrder.map(({ row, holdId, identity, list }) => {
    const found = { folded_name: row.name === null ? null : folded(row.name), words: wordsOfRecord(list, row) }
    return { ...columnsOf(row), hold_id: holdId, identity: bytesText(identity), ...found }
  })
  await sql.run(INSERT_RECORDS, [JSON.stringify(rows)])
}

function byAccount([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}

function columnsOf(row: RecordRow): object {
  const values = FIELDS.map(field => row[field])
  return Object.fromEntries(
    values.map((value, i) => [COLUMNS[i], value instanceof Uint8Array ? bytesText(value) : value]),
  )
}

function bytesText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

export function foundBy(row: Identity & { list: number }): object {
  const { name, list } = row
  return {
    identity: rowIdentity(row),
    foldedName: name === null ? null : folded(name),
    words: wordsOfRecord(list, row),
  }
}

export async function getRecord(sql: Sql, id: string): Promise<RecordRow | undefined> {
  return (await runRule(first(GET_RECORD, { id }), sql)) ?? undefined
}

/** Locks records until the transaction ends. */
export async function lockRecords(sql: Sql, ids: readonly string[]): Promise<HeldRecord[]> {
  return sql.all<HeldRecord>(`SELECT ${HELD_COLUMNS} FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE`, [ids])
}

/** Returns the live record that `row` would duplicate: same account, cluster, DAG, expiry, names and metadata. */
export async function identicalRecord(sql: Sql, row: NewRecord, now: number): Promise<RecordRow | undefined> {
  const { accountId } = row
  const found = await runRule(first(REPEATED_RECORD, { accountId, identity: rowIdentity(row), now }), sql)
  return found ?? undefined
}

/** Returns whether a record of the account has the DAG. Expired records count until they are removed. */
export async function hasDag(sql: Sql, accountId: string, { codec, multihash }: DagIdentity): Promise<boolean> {
  return (await runRule(first(HAS_DAG, { accountId, multihash, codec }), sql)) !== null
}

export async function setStatus(
  sql: Sql,
  id: string,
  { status, at, reason }: { status: PinStatus; at: number; reason: StatusReason | null },
): Promise<RecordRow> {
  const to = { id, status, at, code: reason?.code ?? null, text: reason?.text ?? null }
  const row = await runRule(first(SET_STATUS, to), sql)
  if (row === null) throw new HoldfastError('INTERNAL_ERROR', `record ${id} no longer exists`)
  return row
}

/** Returns a hash of everything that two records must share to be duplicates. */
export function rowIdentity(record: Identity): Uint8Array {
  const known = identities.get(record) ?? identityOf(record)
  identities.set(record, known)
  return known
}

function identityOf(record: Identity): Uint8Array {
  const { clusterId, codec, multihash, expiresAt, name, originalName, customName, meta, owner } = record
  const content = Buffer.from(multihash).toString('hex')
  const all = [clusterId, codec, content, expiresAt, name, originalName, customName, meta]
  // Public records keep the identity that an earlier version gave them.
  if (owner !== 0) all.push(owner)
  return createHash('sha256').update(JSON.stringify(all)).digest().subarray(0, IDENTITY_BYTES)
}

/** @param list the `seq` of the record's account */
export function wordsOfRecord(list: number, { name, meta }: Pick<RecordRow, 'name' | 'meta'>): string[] {
  const words = name === null ? new Set<string>() : wordsOfName(list, name)
  const entries = meta === null ? {} : (JSON.parse(meta) as Record<string, string>)
  for (const [key, value] of Object.entries(entries)) words.add(metaWord(list, key, value))
  return [...words]
}
