import { createHash } from 'node:crypto'
import type { NewRecord, RecordRow } from '../../src/catalogue/records.ts'
import { first, run } from '../../src/catalogue/rules/driver.ts'
import {
  GET_RECORD,
  HAS_DAG,
  INSERT_RECORD,
  LIVE_RECORD,
  REPEATED_RECORD,
  record,
  SET_STATUS,
} from '../../src/catalogue/rules/record-statements.ts'
import type { HeldRecord } from '../../src/catalogue/rules/removal-rules.ts'
import { selectList } from '../../src/catalogue/rules/statement.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { PinStatus, StatusReason } from '../../src/domain/pin-status.ts'
import { folded, metaWord, wordsOfName } from '../../src/domain/search-words.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import { carriedOut } from './postgres-driver.ts'
import type { Sql } from './sql.ts'

export const RECORD_COLUMNS = selectList(record).postgres

/** Whether a record is live at the instant that a parameter has. */
export function live(now: string): string {
  return LIVE_RECORD.replace(':now', now)
}

/** Bytes of a hash that tell records of one account apart. */
const IDENTITY_BYTES = 16

type Identity = Pick<
  NewRecord,
  'clusterId' | 'codec' | 'multihash' | 'expiresAt' | 'name' | 'originalName' | 'customName' | 'meta'
>

/** The record with what is derived from it. @param list the number of its account's list */
export async function insertRecord(sql: Sql, row: RecordRow, holdId: string | null, list: number): Promise<void> {
  await carriedOut(run(INSERT_RECORD, { ...row, holdId, ...foundBy({ ...row, list }) }), sql)
}

/** Returns the columns that a record is found by. */
export function foundBy(row: Identity & { list: number }): object {
  const { name, list } = row
  return {
    identity: rowIdentity(row),
    foldedName: name === null ? null : folded(name),
    words: wordsOfRecord(list, row),
  }
}

export async function getRecord(sql: Sql, id: string): Promise<RecordRow | undefined> {
  return (await carriedOut(first(GET_RECORD, { id }), sql)) ?? undefined
}

/** With what keeps it; nothing else changes it until the transaction ends. */
export async function lockRecords(sql: Sql, ids: readonly string[]): Promise<HeldRecord[]> {
  return sql.all<HeldRecord>(
    `SELECT ${RECORD_COLUMNS}, hold_id AS "holdId" FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
    [ids],
  )
}

/** The live record that another of the same account, cluster, DAG, expiry and names would only repeat. */
export async function identicalRecord(sql: Sql, row: NewRecord, now: number): Promise<RecordRow | undefined> {
  const { accountId } = row
  const found = await carriedOut(first(REPEATED_RECORD, { accountId, identity: rowIdentity(row), now }), sql)
  return found ?? undefined
}

/** Whether the content of the DAG is held for the account; by a record that has expired but is not yet removed, too. */
export async function hasDag(sql: Sql, accountId: string, { codec, multihash }: DagIdentity): Promise<boolean> {
  return (await carriedOut(first(HAS_DAG, { accountId, multihash, codec }), sql)) !== null
}

/** Returns the record as it is then. */
export async function setStatus(
  sql: Sql,
  id: string,
  { status, at, reason }: { status: PinStatus; at: number; reason: StatusReason | null },
): Promise<RecordRow> {
  const to = { id, status, at, code: reason?.code ?? null, text: reason?.text ?? null }
  const row = await carriedOut(first(SET_STATUS, to), sql)
  if (row === null) throw new HoldfastError('INTERNAL_ERROR', `record ${id} has gone`)
  return row
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
