import { createHmac, timingSafeEqual } from 'node:crypto'
import { base32upper } from 'multiformats/bases/base32'

/** What every authenticator app understands: RFC 6238 with SHA-1, six digits, thirty seconds. */
const STEP_MS = 30_000
const DIGITS = 6
/** Steps by which the clock of a phone may be off, either way. */
const DRIFT = 1
const ISSUER = 'Holdfast'

/** The time step of an instant. */
export function totpStep(now: number): number {
  return Math.floor(now / STEP_MS)
}

/** The code of a time step. */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0x0f
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * The time step that a code belongs to, or null if it is not a code of about now. Steps up to `lastStep` have been
 * used: their codes, however recent, are no good any more.
 */
export function matchTotp(secret: Uint8Array, code: string, now: number, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const current = totpStep(now)
  const given = Buffer.from(code)
  let matched: number | null = null
  for (let step = Math.max(0, current - DRIFT); step <= current + DRIFT; step++) {
    if (timingSafeEqual(Buffer.from(totpCode(secret, step)), given) && step > lastStep) matched ??= step
  }
  return matched
}

/** The secret as people type it into an app. */
export function totpSecretText(secret: Uint8Array): string {
  return base32upper.baseEncode(secret)
}

/** The secret as an app scans it. */
export function otpauthUrl(secret: Uint8Array, account: string): string {
  const label = encodeURIComponent(`${ISSUER}:${account}`)
  const parameters = `secret=${totpSecretText(secret)}&issuer=${ISSUER}&algorithm=SHA1&digits=${DIGITS}`
  return `otpauth://totp/${label}?${parameters}&period=${STEP_MS / 1_000}`
}
