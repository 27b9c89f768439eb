import type { Records } from '../../../src/catalogue/records.ts'
import { stillAwaited } from '../../../src/catalogue/rules/owner-rules.ts'
import type { HeldRecord } from '../../../src/catalogue/rules/removal-rules.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { LockedAccounts } from '../access/locked-accounts.ts'
import type { Sql } from '../database/sql.ts'
import { checkPrivate } from '../lists/private-records.ts'
import { HELD_COLUMNS, lockRecords, RECORD_COLUMNS, rowIdentity } from '../lists/record-rows.ts'
import type { ContentParts } from './content-change.ts'

const RECORD = `SELECT ${HELD_COLUMNS} FROM records WHERE id = $1`
const KEEPER = `
  SELECT nodes.id AS node FROM holds JOIN nodes ON nodes.name = holds.node WHERE holds.id = $1 AND nodes.id IS NOT NULL`
const SET_OWNER = `
  UPDATE records SET owner = $2, root_id = $3, hold_id = $4, identity = $5 WHERE id = $1 RETURNING ${RECORD_COLUMNS}`
const END_DISPUTE = 'DELETE FROM disputes WHERE record_id = $1'

interface OwnerGift {
  record: HeldRecord
  /** A root with the content of the record, and a hold that keeps it. */
  root: NonNullable<ReturnType<ContentParts['ledger']['rootHeldBy']>>
  hold: string
  owner: number
  now: number
}

/**
 * Gives records another owner. The ledger first holds the content for the new owner. One transaction gives this hold to
 * the record and makes the former hold void, and the ledger ends and releases it. Until then this node serves the content
 * as before.
 */
export function recordOwnerChange(parts: ContentParts): Records['setOwner'] {
  const { database, ledger } = parts
  return async ({ accountId, id, owner, now }) => {
    await checkPrivate(database, [owner])
    for (;;) {
      const record = await database.reading.first<HeldRecord>(RECORD, [id])
      const isGone = record === undefined || record.accountId !== accountId
      if (isGone || (record.expiresAt !== null && record.expiresAt <= now)) return null
      if (record.owner === owner) {
        await database.command(END_DISPUTE, [id])
        return record
      }
      if (record.rootId === null || record.holdId === null) throw stillAwaited()
      const root = ledger.rootHeldBy(record.holdId)
      if (root === undefined) {
        const keeper = await database.reading.first<{ node: string }>(KEEPER, [record.holdId])
        const message = 'visibility: another node keeps the content; try again'
        throw new HoldfastError('UNAVAILABLE', message, { details: keeper ?? {} })
      }
      const gift = { record, root, hold: record.holdId, owner, now }
      const made = await giveOwner(parts, gift, sql => sql.run(END_DISPUTE, [id]))
      if (made !== null) return made
    }
  }
}

/**
 * Gives a record another owner, with content that this node has. Returns null if the record or the hold of the root has
 * changed meanwhile.
 *
 * @param also runs in the transaction of the change
 */
export async function giveOwner(
  { database, holds, ledger }: ContentParts,
  { record, root, hold: from, owner, now }: OwnerGift,
  also: (sql: Sql) => Promise<unknown>,
): Promise<HeldRecord | null> {
  const { id, accountId } = record
  const { backendId } = root
  const isThere = ledger.find(backendId, root, owner) !== undefined
  const stagedRootId = isThere ? null : await ledger.copy(from, owner, now)
  // The hold has left the root meanwhile.
  if (!isThere && stagedRootId === null) return null
  const wanted = { backendId, stagedRootId, dag: { ...root, owner }, ends: record.expiresAt, accountId }
  const [hold] = await holds.place([wanted]).catch(async error => {
    if (stagedRootId !== null) await ledger.abandon([stagedRootId])
    throw error
  })
  if (hold == null) throw new HoldfastError('INTERNAL_ERROR', 'the content has no hold')
  try {
    const made = await database.transaction(async sql => {
      await LockedAccounts.lock(sql, [accountId])
      const [current] = await lockRecords(sql, [id])
      if (current === undefined || current.holdId !== record.holdId || current.owner !== record.owner) return null
      await holds.use(sql, [hold.id])
      const identity = rowIdentity({ ...current, owner })
      const row = await sql.first<HeldRecord>(SET_OWNER, [id, owner, hold.rootId, hold.id, identity])
      await also(sql)
      if (record.holdId !== null) {
        // After a set-back, a node may keep void holds for long. An end of 0 lets nobody read by them.
        await sql.run('UPDATE holds SET new_end = 0 WHERE id = $1', [record.holdId])
        await holds.void(sql, [record.holdId])
      }
      return row === undefined ? null : { ...row, holdId: hold.id }
    }, accountId)
    if (made !== null) await holds.releaseVoid()
    return made
  } finally {
    await holds.discard([hold.id])
  }
}
