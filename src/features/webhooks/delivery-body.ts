import { createHmac } from 'node:crypto'
import { iso } from '../../domain/iso-instant.ts'
import type { DeliveryRow } from './webhook-store.ts'

export const SIGNATURE_HEADER = 'holdfast-signature'

/** Returns the JSON body, which is the same in each attempt. Times are in UTC with milliseconds. */
export function deliveryBody({ id, event, from, createdAt, record }: DeliveryRow): string {
  const {
    expiresAt,
    createdAt: recordCreatedAt,
    ...rest
  } = JSON.parse(record) as {
    expiresAt: number | null
    createdAt: number
  }
  return JSON.stringify({
    id: String(id),
    event,
    at: iso(createdAt),
    from,
    record: { ...rest, expiresAt: iso(expiresAt), createdAt: iso(recordCreatedAt) },
  })
}

/**
 * Returns `t=<seconds since the epoch>,v1=<hex>`: the HMAC-SHA-256 of the seconds, a dot and the body, keyed with the
 * webhook's secret. The age of `t` reveals replayed deliveries.
 */
export function signatureOf(body: string, secret: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${mac}`
}
