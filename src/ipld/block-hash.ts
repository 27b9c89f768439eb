import { hash, webcrypto } from 'node:crypto'
import type { MultihashDigest } from 'multiformats'
import * as Digest from 'multiformats/hashes/digest'
import { HoldfastError } from '../domain/errors.ts'
import { HASH } from './cid.ts'

/** Up to this size in bytes, hashing in the current thread is faster than in the thread pool. */
const INLINE_HASH_BYTES = 32 * 1024

export async function sha256(bytes: Uint8Array): Promise<MultihashDigest<0x12>> {
  return Digest.create(HASH.sha2_256, await digest(SHA_256, bytes))
}

/** @throws HoldfastError `INVALID_CID` if the node cannot compute this hash */
export async function matches(multihash: Uint8Array, bytes: Uint8Array): Promise<boolean> {
  const expected = Digest.decode(multihash)
  return Buffer.compare(expected.digest, await digestOf(expected.code, bytes)) === 0
}

/**
 * Checks a hash synchronously in the current thread. The thread pool would take 50 % longer, because it copies the
 * bytes first.
 */
export function matchesHere(multihash: Uint8Array, bytes: Uint8Array): boolean {
  const { code, digest } = Digest.decode(multihash)
  if (code === HASH.identity) return Buffer.compare(digest, bytes) === 0
  return Buffer.compare(digest, hash(algorithmOf(code).name, bytes, 'buffer')) === 0
}

export function isOfNothing({ code, digest }: MultihashDigest): boolean {
  const algorithm = ALGORITHMS.get(code)
  return algorithm !== undefined && Buffer.compare(digest, hash(algorithm.name, '', 'buffer')) === 0
}

/** @throws HoldfastError `INVALID_CID` if the node cannot compute this hash */
export async function digestOf(code: number, bytes: Uint8Array): Promise<Uint8Array> {
  return code === HASH.identity ? bytes : digest(algorithmOf(code), bytes)
}

interface Algorithm {
  name: string
  webName: string
}

const SHA_256: Algorithm = { name: 'sha256', webName: 'SHA-256' }
const ALGORITHMS = new Map<number, Algorithm>([
  [HASH.sha2_256, SHA_256],
  [HASH.sha2_512, { name: 'sha512', webName: 'SHA-512' }],
])

function algorithmOf(code: number): Algorithm {
  const algorithm = ALGORITHMS.get(code)
  if (algorithm !== undefined) return algorithm
  throw new HoldfastError('INVALID_CID', `hash 0x${code.toString(16)} cannot be checked by this node`)
}

async function digest({ name, webName }: Algorithm, bytes: Uint8Array): Promise<Uint8Array> {
  // WebCrypto does not accept shared memory.
  const isHere = bytes.length <= INLINE_HASH_BYTES || bytes.buffer instanceof SharedArrayBuffer
  if (isHere) return hash(name, bytes, 'buffer')
  return new Uint8Array(await webcrypto.subtle.digest(webName, bytes as Uint8Array<ArrayBuffer>))
}
