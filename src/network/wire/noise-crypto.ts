import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { ICryptoInterface, KeyPair } from '@libp2p/noise'
import { notePlaintext } from './plaintexts.ts'

const CIPHER = 'chacha20-poly1305'
const TAG_BYTES = 16
const KEY_BYTES = 32
/** DER header of a private X25519 key. */
const PRIVATE = Buffer.from('302e020100300506032b656e04220420', 'hex')
/** DER header of a public X25519 key. */
const PUBLIC = Buffer.from('302a300506032b656e032100', 'hex')

/** Avoids importing the same key again. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>()

/**
 * Noise with OpenSSL. Each plaintext gets a buffer of its own, because the connection reuses the buffer of the
 * ciphertext.
 */
export const noiseCrypto: ICryptoInterface = {
  hashSHA256(data) {
    const hash = createHash('sha256')
    for (const piece of pieces(data)) hash.update(piece)
    return hash.digest()
  },

  getHKDF(salt, input) {
    const keys = new Uint8Array(hkdfSync('sha256', input, salt, '', 3 * KEY_BYTES))
    return [keys.subarray(0, KEY_BYTES), keys.subarray(KEY_BYTES, 2 * KEY_BYTES), keys.subarray(2 * KEY_BYTES)]
  },

  generateX25519KeyPair() {
    return keyPair(generateKeyPairSync('x25519').privateKey)
  },

  generateX25519KeyPairFromSeed(seed) {
    return keyPair(privateKeyOf(seed))
  },

  generateX25519SharedKey(privateKey, publicKey) {
    const key = Buffer.concat([PUBLIC, ...pieces(publicKey)])
    return diffieHellman({
      privateKey: privateKeyOf(Buffer.concat([...pieces(privateKey)])),
      publicKey: createPublicKey({ key, type: 'spki', format: 'der' }),
    })
  },

  chaCha20Poly1305Encrypt(plaintext, nonce, ad, key) {
    const cipher = createCipheriv(CIPHER, keyObject(key), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(ad, { plaintextLength: plaintext.byteLength })
    const encrypted = Array.from(pieces(plaintext), piece => cipher.update(piece))
    return Buffer.concat([...encrypted, cipher.final(), cipher.getAuthTag()])
  },

  chaCha20Poly1305Decrypt(ciphertext, nonce, ad, key) {
    const whole = ciphertext instanceof Uint8Array ? ciphertext : ciphertext.subarray()
    const end = whole.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, keyObject(key), nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(ad, { plaintextLength: end })
    decipher.setAuthTag(whole.subarray(end))
    const plaintext = decipher.update(whole.subarray(0, end))
    decipher.final()
    return notePlaintext(plaintext)
  },
}

function pieces(data: Uint8Array | Iterable<Uint8Array>): Iterable<Uint8Array> {
  return data instanceof Uint8Array ? [data] : data
}

function keyObject(bytes: Uint8Array): KeyObject {
  const known = keyObjects.get(bytes)
  if (known !== undefined) return known
  const key = createSecretKey(bytes)
  keyObjects.set(bytes, key)
  return key
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), type: 'pkcs8', format: 'der' })
}

function keyPair(privateKey: KeyObject): KeyPair {
  const secret = privateKey.export({ type: 'pkcs8', format: 'der' })
  const open = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  return { privateKey: secret.subarray(PRIVATE.length), publicKey: open.subarray(PUBLIC.length) }
}
