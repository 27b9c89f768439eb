import type { Holds } from '../../ledger/holds.ts'
import type { RootOwners } from '../../ledger/root-owners.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { RecordRow, Records } from '../records.ts'
import { stillAwaited } from '../rules/owner-rules.ts'
import type { RecordTable } from './record-table.ts'

type OwnerRequest = Parameters<Records['setOwner']>[0]

/** Gives a record and its content another owner. The last transaction changes both. */
export function ownerChange(parts: {
  table: RecordTable
  owners: RootOwners
  holds: Holds
  queue: WriteQueue
}): Records['setOwner'] {
  const { table, owners, holds, queue } = parts
  return async request => {
    for (;;) {
      const done = await queue.run(() => changed(parts, request), { durable: true })
      if (done !== 'copy') return done
      const from = holds.rootOf(request.id)
      const staged = await owners.copy(request.id, request.owner, request.now)
      if (from === null || staged === null) continue
      const made = await queue.run(
        () => {
          const rootId = owners.giveCopy(request.id, { staged, from, owner: request.owner })
          return rootId === null ? null : table.setOwner(request.id, request.owner, rootId)
        },
        { durable: true },
      )
      // Another call has changed the record meanwhile.
      if (made !== null) return made
    }
  }
}

/** Returns `copy` if the owner has no root of the content yet; null if the account has no such record. */
function changed(
  { table, owners }: { table: RecordTable; owners: RootOwners },
  { accountId, id, owner, now }: OwnerRequest,
): RecordRow | 'copy' | null {
  const row = table.get(id)
  if (row === undefined || row.accountId !== accountId || (row.expiresAt !== null && row.expiresAt <= now)) return null
  if (row.owner === owner) return row
  // Without its hold, a record waits for a reconciliation.
  if (row.rootId === null || owners.rootOf(id) === undefined) throw stillAwaited()
  const rootId = owners.give(id, owner)
  return rootId === null ? 'copy' : table.setOwner(id, owner, rootId)
}
