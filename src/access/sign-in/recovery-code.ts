import { base32 } from 'multiformats/bases/base32'
import { hashSecret, type RandomBytes } from '../keys/api-key-secret.ts'

const CODES = 10
/** 80 bits are sixteen letters and digits, and too many to guess whatever the hash. */
const BYTES = 10

/** A set of codes for whoever has lost the authenticator, `xxxx-xxxx-xxxx-xxxx`. Each is good once. */
export function generateRecoveryCodes(random: RandomBytes): string[] {
  return Array.from({ length: CODES }, () => base32.baseEncode(random(BYTES)).replace(/.{4}(?=.)/g, '$&-'))
}

/** What is stored of a code; however it is typed, with or without dashes, spaces and capitals. */
export function hashRecoveryCode(code: string): Uint8Array {
  return hashSecret(code.replace(/[\s-]/g, '').toLowerCase())
}
