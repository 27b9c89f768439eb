import { hash, randomBytes } from 'node:crypto'

export type RandomBytes = (size: number) => Uint8Array

export const systemRandom: RandomBytes = size => randomBytes(size)

export interface ApiKeySecret {
  id: string
  /** Secret that clients send. The secret is shown once and never stored. */
  secret: string
  /** Start of the secret, which lists of keys show. */
  prefix: string
}

const ID_BYTES = 8
const SECRET_BYTES = 32

/**
 * Returns `hf_<id>_<256 random bits>`. Scanners can find this form in leaked text, and a double click selects the whole
 * key. Unlike a session token, a key has no dots.
 */
export function generateSecret(random: RandomBytes = systemRandom): ApiKeySecret {
  const id = randomId(random, ID_BYTES)
  const prefix = `hf_${id}`
  return { id, prefix, secret: `${prefix}_${randomId(random, SECRET_BYTES)}` }
}

/** Returns the hash of a secret, by which the catalogue finds the key. */
export function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

/** Returns a number from 1 to 2^48, by which roots name the account that owns them. */
export function ownerNumber(random: RandomBytes = systemRandom): number {
  return Buffer.from(random(6)).readUIntBE(0, 6) + 1
}

/** Returns a hexadecimal id, which needs no escaping in URLs and does not look like a command-line option. */
export function randomId(random: RandomBytes = systemRandom, bytes = 12): string {
  return Buffer.from(random(bytes)).toString('hex')
}
