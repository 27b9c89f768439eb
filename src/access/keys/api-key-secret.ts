import { hash, randomBytes } from 'node:crypto'

/** Gives `size` unpredictable bytes; a port, so that tests can foresee them. */
export type RandomBytes = (size: number) => Uint8Array

export const systemRandom: RandomBytes = size => randomBytes(size)

export interface ApiKeySecret {
  /** The key's id. */
  id: string
  /** What the client sends; shown once and never stored. */
  secret: string
  /** The part of the secret that may be shown afterwards. */
  prefix: string
}

const ID_BYTES = 8
const SECRET_BYTES = 32

/**
 * A new API key, `hf_<id>_<256 random bits>`: easy to recognise where it has leaked, selected by a double click, and
 * without dots, which tells it from a session token.
 */
export function generateSecret(random: RandomBytes = systemRandom): ApiKeySecret {
  const id = randomId(random, ID_BYTES)
  const prefix = `hf_${id}`
  return { id, prefix, secret: `${prefix}_${randomId(random, SECRET_BYTES)}` }
}

/** Keys are looked up by the SHA-256 of the whole secret, so any string can be one. */
export function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

/** Hexadecimal, so that it fits into URLs and never looks like a command line option. */
export function randomId(random: RandomBytes = systemRandom, bytes = 12): string {
  return Buffer.from(random(bytes)).toString('hex')
}
