import { createHmac } from 'node:crypto'
import type { DeliveryRow } from '../catalogue/webhook-store.ts'

/** Where a receiver finds the signature. */
export const SIGNATURE_HEADER = 'holdfast-signature'

/** The JSON that a delivery sends, the same at each attempt; times are UTC with milliseconds. */
export function deliveryBody({ id, event, from, createdAt, record }: DeliveryRow): string {
  const {
    expiresAt,
    createdAt: since,
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
    record: { ...rest, expiresAt: iso(expiresAt), createdAt: iso(since) },
  })
}

/**
 * `t=<seconds since the epoch>,v1=<hex>`: the HMAC-SHA-256, by the webhook's secret, of these seconds, a dot and the
 * body. A receiver that compares both, and the time with its own, takes nothing that was changed, or sent again later.
 */
export function signatureOf(body: string, secret: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${mac}`
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
