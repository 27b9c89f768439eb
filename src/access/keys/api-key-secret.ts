import { hash, randomBytes } from 'node:crypto'

/** Returns `size` random bytes. A port, so tests can choose them. */
export type RandomBytes = (size: number) => Uint8Array

export const systemRandom: RandomBytes = size => randomBytes(size)

export interface ApiKeySecret {
  /** The key's id. */
  id: string
  /** The secret that clients send, shown once and never stored. */
  secret: string
  /** Start of the secret, which lists of keys show. */
  prefix: string
}

const ID_BYTES = 8
const SECRET_BYTES = 32

/**
 * Returns a new API key, `hf_<id>_<256 random bits>`. Its form is easy to find in leaked text, and a double click
 * selects it. It has no dots, unlike a session token.
 */
export function generateSecret(random: RandomBytes = systemRandom): ApiKeySecret {
  const id = randomId(random, ID_BYTES)
  const prefix = `hf_${id}`
  return { id, prefix, secret: `${prefix}_${randomId(random, SECRET_BYTES)}` }
}

/** Returns the SHA-256 of the whole secret, the index of stored keys. */
export function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

/** Returns a random hexadecimal id, which needs no escaping in URLs and cannot look like a command-line option. */
export function randomId(random: RandomBytes = systemRandom, bytes = 12): string {
  return Buffer.from(random(bytes)).toString('hex')
}
