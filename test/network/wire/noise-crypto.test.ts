import { randomBytes } from 'node:crypto'
import { pureJsCrypto } from '@libp2p/noise'
import { expect, test } from 'vitest'
import { noiseCrypto } from '../../../src/network/wire/noise-crypto.ts'

const LENGTHS = [0, 1, 63, 64, 1_199, 1_200, 65_519]
const key = randomBytes(32)
const nonce = randomBytes(12)
const ad = randomBytes(32)

test('shared keys equal those of the reference implementation, also from seeds', () => {
  const ours = noiseCrypto.generateX25519KeyPair()
  const theirs = pureJsCrypto.generateX25519KeyPair()
  const agreed = Buffer.from(noiseCrypto.generateX25519SharedKey(ours.privateKey, theirs.publicKey))
  expect(agreed.equals(pureJsCrypto.generateX25519SharedKey(theirs.privateKey, ours.publicKey))).toBe(true)
  const seed = randomBytes(32)
  const [a, b] = [noiseCrypto, pureJsCrypto].map(crypto => crypto.generateX25519KeyPairFromSeed(seed))
  expect(Buffer.from(a?.publicKey ?? []).toString('hex')).toBe(Buffer.from(b?.publicKey ?? []).toString('hex'))
  expect(Buffer.from(a?.privateKey ?? []).equals(seed)).toBe(true)
})

test('hashes and derived keys equal those of the reference implementation', () => {
  for (const length of LENGTHS) {
    const data = randomBytes(length)
    expect(Buffer.from(noiseCrypto.hashSHA256(data)).equals(pureJsCrypto.hashSHA256(data))).toBe(true)
    const keys = noiseCrypto.getHKDF(key, data).map(bytes => Buffer.from(bytes).toString('hex'))
    expect(keys).toEqual(pureJsCrypto.getHKDF(key, data).map(bytes => Buffer.from(bytes).toString('hex')))
  }
})

test('ciphertexts equal those of the reference implementation', () => {
  for (const length of LENGTHS) {
    const data = randomBytes(length)
    const encrypted = noiseCrypto.chaCha20Poly1305Encrypt(data, nonce, ad, key).subarray()
    const expected = pureJsCrypto.chaCha20Poly1305Encrypt(data, nonce, ad, key).subarray()
    expect(Buffer.from(encrypted).equals(expected)).toBe(true)
    expect(Buffer.from(noiseCrypto.chaCha20Poly1305Decrypt(expected, nonce, ad, key).subarray()).equals(data)).toBe(
      true,
    )
  }
})

test('a wrong message, key, nonce or context is refused', () => {
  const encrypted = noiseCrypto.chaCha20Poly1305Encrypt(randomBytes(100), nonce, ad, key).subarray()
  const decrypt = (bytes: Uint8Array, n: Uint8Array, a: Uint8Array, k: Uint8Array) => () =>
    noiseCrypto.chaCha20Poly1305Decrypt(bytes, n, a, k)
  for (const at of [0, 50, 99, 100, 115]) {
    const changed = Uint8Array.from(encrypted, (byte, index) => (index === at ? byte ^ 1 : byte))
    expect(decrypt(changed, nonce, ad, key)).toThrow()
  }
  expect(decrypt(encrypted, randomBytes(12), ad, key)).toThrow()
  expect(decrypt(encrypted, nonce, randomBytes(32), key)).toThrow()
  expect(decrypt(encrypted, nonce, ad, randomBytes(32))).toThrow()
  expect(decrypt(encrypted.subarray(0, 10), nonce, ad, key)).toThrow()
})

test('a plaintext has its own memory, even if given a buffer', () => {
  for (const length of [100, 65_519]) {
    const data = randomBytes(length)
    const encrypted = Buffer.from(noiseCrypto.chaCha20Poly1305Encrypt(data, nonce, ad, key).subarray())
    const offered = encrypted.subarray(0, length)
    const decrypted = noiseCrypto.chaCha20Poly1305Decrypt(encrypted, nonce, ad, key, offered).subarray()
    encrypted.fill(0)
    expect(Buffer.from(decrypted).equals(data)).toBe(true)
  }
})
