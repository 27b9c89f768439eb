import { base32 } from 'multiformats/bases/base32'
import { hashSecret, type RandomBytes } from '../keys/api-key-secret.ts'

const CODES = 10
/** 80 bits: sixteen characters of base32, too many to guess even with a fast hash. */
const BYTES = 10

/** Returns ten recovery codes, `xxxx-xxxx-xxxx-xxxx`, for a user without the authenticator. Each works once. */
export function generateRecoveryCodes(random: RandomBytes): string[] {
  return Array.from({ length: CODES }, () => base32.baseEncode(random(BYTES)).replace(/.{4}(?=.)/g, '$&-'))
}

/** Returns the hash to store. Ignores dashes, spaces and case. */
export function hashRecoveryCode(code: string): Uint8Array {
  return hashSecret(code.replace(/[\s-]/g, '').toLowerCase())
}
