import { randomFillSync } from 'node:crypto'
import type { ListedRecord } from '../catalogue/records.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import type { PinRecord } from './pin-types.ts'

/** Digits, in base 36, of the number of an id within its millisecond. */
const NUMBER_DIGITS = 3
const MOST_NUMBERS = 36 ** NUMBER_DIGITS

const RANDOM_BYTES = 7
/** Random bytes for 512 ids. To ask for the bytes of one id costs as much as a statement. */
const random = Buffer.alloc(512 * RANDOM_BYTES)
let used = random.length

/** Time and number of the newest id of this process. */
let [newest, number] = [0, 0]

/**
 * Returns an unguessable, URL-safe id. Ids sort by creation time; within a millisecond, in the order of the calls.
 * All have 21 characters, by which a reconciliation knows the holds of records.
 */
export function newUploadId(now: number): string {
  number = now === newest ? (number + 1) % MOST_NUMBERS : 0
  newest = now
  const order = [now.toString(36).padStart(9, '0'), number.toString(36).padStart(NUMBER_DIGITS, '0')].join('')
  return `${order}${randomPart()}`
}

function randomPart(): string {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  used += RANDOM_BYTES
  return random.toString('base64url', used - RANDOM_BYTES, used).slice(0, 9)
}

export function presentRecord(row: ListedRecord): PinRecord {
  const { id, accountId, clusterId, cid, type, status, name, originalName, customName } = row
  const meta: Record<string, string> = row.meta === null ? {} : JSON.parse(row.meta)
  const { owner, size, dagSize, expiresAt, createdAt } = row
  return {
    uploadId: id,
    accountId,
    clusterId,
    cid,
    type,
    status,
    name,
    originalName,
    customName,
    meta,
    visibility: owner === PUBLIC ? 'public' : 'private',
    ...(row.disputed && { disputed: row.disputed }),
    size,
    dagSize,
    expiresAt,
    createdAt,
  }
}
