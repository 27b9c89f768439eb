import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { HoldfastError } from './errors.ts'

/** Keeps small secrets so that who reads the disk, without the key, learns nothing but their length. */
export interface Sealing {
  /**
   * Never the same twice, even of the same bytes.
   *
   * @param context what the bytes are and whose, such as `second-factor <account>`: what was sealed for one context
   * does not open for another, so that nobody who can write to the store can put one secret in the place of another
   */
  seal(bytes: Uint8Array, context: string): Uint8Array
  /**
   * @throws HoldfastError `DATA_DIR_UNUSABLE` naming the context, if the bytes were changed, or sealed with another
   * key or for another context.
   */
  open(sealed: Uint8Array, context: string): Uint8Array
}

/** 256 bits. */
export const SEALING_KEY_BYTES = 32

/** Sealed bytes begin with it; another way of sealing gets another. */
const VERSION = Uint8Array.of(1)
const CIPHER = 'aes-256-gcm'
/** Random, so fit for some billions of secrets under one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Sealing by AES-256-GCM with a random nonce: `version (1) | nonce (12) | ciphertext | tag (16)`; version and context
 * are authenticated as well.
 *
 * @param key {@link SEALING_KEY_BYTES} long
 */
export function sealingWith(key: Uint8Array, random: (length: number) => Uint8Array = randomBytes): Sealing {
  const cut = { authTagLength: TAG_BYTES }
  const boundTo = (context: string): Uint8Array => Buffer.concat([VERSION, Buffer.from(context)])
  return {
    seal: (bytes, context) => {
      const nonce = random(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, cut).setAAD(boundTo(context))
      return Buffer.concat([VERSION, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    },
    open: (sealed, context) => {
      try {
        if (sealed[0] !== VERSION[0]) throw new RangeError(`sealed in version ${sealed[0]}, which is not known`)
        const end = sealed.length - TAG_BYTES
        const begin = VERSION.length + NONCE_BYTES
        const decipher = createDecipheriv(CIPHER, key, sealed.subarray(VERSION.length, begin), cut)
        decipher.setAAD(boundTo(context)).setAuthTag(sealed.subarray(Math.max(end, 0)))
        return Buffer.concat([decipher.update(sealed.subarray(begin, end)), decipher.final()])
      } catch (cause) {
        const problem = 'it is damaged, or was sealed with another key'
        throw new HoldfastError('DATA_DIR_UNUSABLE', `a stored secret (${context}) cannot be opened: ${problem}`, {
          cause,
        })
      }
    },
  }
}

/** Names a key without telling anything of it. */
export function sealingKeyId(key: Uint8Array): string {
  return createHash('sha256').update('holdfast data key').update(key).digest('hex').slice(0, 32)
}
