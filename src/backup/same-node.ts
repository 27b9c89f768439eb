import { join } from 'node:path'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { CopiedLedger } from '../ledger/copied-ledger.ts'
import type { AnyManifest } from './manifest.ts'

const BATCH = 1_000

/**
 * Checks that the last backup is of the same node. The new copy must have at least half as many roots as the backup,
 * without expired roots.
 *
 * @param roots number of roots in the new copy
 * @throws HoldfastError `CONFLICT` with the reason
 */
export async function checkSameNode(
  directory: string,
  previous: AnyManifest,
  { copy, roots, now }: { copy: CopiedLedger; roots: number; now: number },
): Promise<void> {
  const isFirst = previous.format === 'holdfast-backup-1'
  if (!isFirst && previous.node !== copy.node()) throw refusal(directory, 'is of another node')
  let last: CopiedLedger | null = null
  let had: number | null = null
  try {
    last = new CopiedLedger(join(directory, previous.database.file), { readonly: true })
    const isOther = last.dataKeyId() !== copy.dataKeyId() || last.catalogueNode() !== copy.catalogueNode()
    // Backups of version 0.2.0 contain no node identity, so the check compares the ids of the data keys and the names
    // in the catalogue.
    if (isFirst && isOther) throw refusal(directory, 'is of another node')
    had = await countRoots(last, now)
  } catch (error) {
    if (isHoldfastError(error, 'CONFLICT')) throw error
    if (isFirst) throw refusal(directory, 'has a damaged database, so its node is unknown')
  } finally {
    last?.close()
  }
  had ??= isFirst ? 0 : previous.roots
  if (roots * 2 < had) throw refusal(directory, `has ${had} roots, and the node has lost more than half of them`)
}

function refusal(directory: string, reason: string): HoldfastError {
  const remedy = 'are its disks mounted? --force replaces the backup'
  return new HoldfastError('CONFLICT', `the backup in ${directory} ${reason}: ${remedy}`)
}

/** Returns whether a copy of this version has private content, or waits for some. */
export async function hasPrivate(copy: CopiedLedger): Promise<boolean> {
  if (copy.awaitsPrivate()) return true
  for (let after = 0; ; ) {
    const batch = copy.ownersAfter(after, BATCH)
    const end = batch.at(-1)
    if (end === undefined) return false
    after = end.id
    if (batch.some(({ owner }) => owner !== 0)) return true
    if (turnSpent()) await nextTurn()
  }
}

export async function countRoots(ledger: CopiedLedger, at: number): Promise<number> {
  let count = 0
  for (let after = 0; ; ) {
    const batch = ledger.completeAfter(after, BATCH)
    const end = batch.at(-1)
    if (end === undefined) return count
    after = end.id
    for (const { liveUntil } of batch) if (liveUntil === null || liveUntil > at) count++
    if (turnSpent()) await nextTurn()
  }
}
