import { randomBytes } from 'node:crypto'
import type { ListedRecord } from '../catalogue/records.ts'
import type { PinRecord } from './pin-types.ts'

/** Returns an unguessable, URL-safe id. Ids sort by creation time. */
export function newUploadId(now: number): string {
  return `${now.toString(36).padStart(9, '0')}${randomBytes(9).toString('base64url')}`
}

export function presentRecord(row: ListedRecord): PinRecord {
  const { id, accountId, clusterId, cid, type, status, name, originalName, customName } = row
  const meta: Record<string, string> = row.meta === null ? {} : JSON.parse(row.meta)
  const { size, dagSize, expiresAt, createdAt } = row
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
    size,
    dagSize,
    expiresAt,
    createdAt,
  }
}
