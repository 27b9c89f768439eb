import { createHmac, timingSafeEqual } from 'node:crypto'
import { base32upper } from 'multiformats/bases/base32'

/** Every authenticator app supports RFC 6238 with SHA-1, six digits and this duration in ms. */
const STEP_MS = 30_000
const DIGITS = 6
/** Number of time steps by which the clock of a phone may be ahead or behind. */
const DRIFT = 1
const ISSUER = 'Holdfast'

export function totpStep(now: number): number {
  return Math.floor(now / STEP_MS)
}

export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0x0f
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * Returns the time step of a code, if the step is at most {@link DRIFT} away from `now`. Refuses steps up to
 * `lastStep`, because each code works once.
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

export function totpSecretText(secret: Uint8Array): string {
  return base32upper.baseEncode(secret)
}

export function otpauthUrl(secret: Uint8Array, account: string): string {
  const label = encodeURIComponent(`${ISSUER}:${account}`)
  const parameters = `secret=${totpSecretText(secret)}&issuer=${ISSUER}&algorithm=SHA1&digits=${DIGITS}`
  return `otpauth://totp/${label}?${parameters}&period=${STEP_MS / 1_000}`
}
