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
import { runRule } from './postgres-driver.ts'
import type { Sql } from './sql.ts'

export const RECORD_COLUMNS = selectList(record).postgres

/** @param now the SQL parameter with the current time, for example `$2` */
export function live(now: string): string {
  return LIVE_RECORD.replace(':now', now)
}

const IDENTITY_BYTES = 16

type Identity = Pick<
  NewRecord,
  'clusterId' | 'codec' | 'multihash' | 'expiresAt' | 'name' | 'originalName' | 'customName' | 'meta'
>

/** @param list the `seq` of the record's account */
export async function insertRecord(sql: Sql, row: RecordRow, holdId: string | null, list: number): Promise<void> {
  await runRule(run(INSERT_RECORD, { ...row, holdId, ...foundBy({ ...row, list }) }), sql)
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
  return sql.all<HeldRecord>(
    `SELECT ${RECORD_COLUMNS}, hold_id AS "holdId" FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
    [ids],
  )
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
  const { clusterId, codec, multihash, expiresAt, name, originalName, customName, meta } = record
  const content = Buffer.from(multihash).toString('hex')
  const all = [clusterId, codec, content, expiresAt, name, originalName, customName, meta]
  return createHash('sha256').update(JSON.stringify(all)).digest().subarray(0, IDENTITY_BYTES)
}

/** @param list the `seq` of the record's account */
export function wordsOfRecord(list: number, { name, meta }: Pick<RecordRow, 'name' | 'meta'>): string[] {
  const words = name === null ? new Set<string>() : wordsOfName(list, name)
  const entries = meta === null ? {} : (JSON.parse(meta) as Record<string, string>)
  for (const [key, value] of Object.entries(entries)) words.add(metaWord(list, key, value))
  return [...words]
}
