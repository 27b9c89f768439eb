import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { HoldfastError } from './errors.ts'

/** Encrypts small secrets. Without the key, somebody who reads the disk learns only the length of a secret. */
export interface Sealing {
  /**
   * Encrypts bytes. The result differs each time.
   * @param context purpose and owner of the bytes, such as `second-factor <account>`. Decryption needs the same
   * context, so that nobody who can write to the database can swap two secrets.
   */
  seal(bytes: Uint8Array, context: string): Uint8Array
  /** @throws HoldfastError `DATA_DIR_UNUSABLE` with the context, if bytes, key or context do not match */
  open(sealed: Uint8Array, context: string): Uint8Array
}

export const SEALING_KEY_BYTES = 32

/** Version of the format, the first byte of encrypted data. */
const VERSION = Uint8Array.of(1)
const CIPHER = 'aes-256-gcm'
/** With a nonce of this size, one key can encrypt some billions of secrets. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Returns a sealing with AES-256-GCM. Format: `version (1) | nonce (12) | ciphertext | tag (16)`. The tag also
 * authenticates version and context.
 * @param key must have {@link SEALING_KEY_BYTES} bytes
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

/** Returns an id of a key, which reveals nothing about it. */
export function sealingKeyId(key: Uint8Array): string {
  return createHash('sha256').update('holdfast data key').update(key).digest('hex').slice(0, 32)
}
