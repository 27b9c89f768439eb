import { createHmac } from 'node:crypto'
import type { DeliveryRow } from '../catalogue/webhook-store.ts'

/** Name of the request header that contains the signature. */
export const SIGNATURE_HEADER = 'holdfast-signature'

/** Returns the JSON body of a delivery. The body is the same in each attempt. Times are in UTC with milliseconds. */
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
 * Returns a signature `t=<seconds since the epoch>,v1=<hex>`. The hex value is the HMAC-SHA-256 of the seconds, a dot
 * and the body, with the webhook's secret as the key. A receiver that checks the HMAC and the age of `t` can refuse
 * forged and replayed deliveries.
 */
export function signatureOf(body: string, secret: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${mac}`
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
