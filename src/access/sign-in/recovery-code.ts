import { base32 } from 'multiformats/bases/base32'
import { hashSecret, type RandomBytes } from '../keys/api-key-secret.ts'

const CODES = 10
/** 80 bits make sixteen base32 characters. Such a code cannot be guessed, even if its hash is fast to compute. */
const BYTES = 10

/** Generates the recovery codes of a second factor. Each code works once. */
export function generateRecoveryCodes(random: RandomBytes): string[] {
  return Array.from({ length: CODES }, () => base32.baseEncode(random(BYTES)).replace(/.{4}(?=.)/g, '$&-'))
}

/** Ignores dashes, spaces and case. */
export function hashRecoveryCode(code: string): Uint8Array {
  return hashSecret(code.replace(/[\s-]/g, '').toLowerCase())
}
