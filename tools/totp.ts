import { createHmac } from 'node:crypto'
import type { Known } from './route-examples.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** Time at which the examples run, in milliseconds since the epoch. */
export const NOW = Date.parse('2030-01-01T00:00:00.000Z')

/** Returns the code of an authenticator app at the examples' time (RFC 6238). */
export function codeAt({ secret = '' }: Known): string {
  const bits = [...secret.replaceAll('=', '')]
    .map(letter => ALPHABET.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(NOW / 30_000)))
  const hash = createHmac('sha1', key).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 15
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}
