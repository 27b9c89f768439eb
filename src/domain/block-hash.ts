import { hash, webcrypto } from 'node:crypto'
import type { MultihashDigest } from 'multiformats'
import * as Digest from 'multiformats/hashes/digest'
import { HASH } from './cid.ts'
import { HoldfastError } from './errors.ts'

/** Below this many bytes the hop to the thread pool costs more than the hash. */
const INLINE_HASH_BYTES = 32 * 1024

/** The SHA-256 multihash of a block; large ones are hashed off the main thread. */
export async function sha256(bytes: Uint8Array): Promise<MultihashDigest<0x12>> {
  return Digest.create(HASH.sha2_256, await digest('sha256', 'SHA-256', bytes))
}

/**
 * Whether `bytes` hash to `multihash`.
 *
 * @throws HoldfastError `INVALID_CID` for a hash that the node cannot check.
 */
export async function matches(multihash: Uint8Array, bytes: Uint8Array): Promise<boolean> {
  const expected = Digest.decode(multihash)
  return Buffer.compare(expected.digest, await digestOf(expected.code, bytes)) === 0
}

/** Whether it is the hash of no bytes at all. */
export function isOfNothing({ code, digest }: MultihashDigest): boolean {
  const name = code === HASH.sha2_256 ? 'sha256' : code === HASH.sha2_512 ? 'sha512' : null
  return name !== null && Buffer.compare(digest, hash(name, '', 'buffer')) === 0
}

/**
 * The digest of `bytes` by the hash of this multihash code.
 *
 * @throws HoldfastError `INVALID_CID` for a hash that the node cannot check.
 */
export async function digestOf(code: number, bytes: Uint8Array): Promise<Uint8Array> {
  if (code === HASH.identity) return bytes
  if (code === HASH.sha2_256) return digest('sha256', 'SHA-256', bytes)
  if (code === HASH.sha2_512) return digest('sha512', 'SHA-512', bytes)
  throw new HoldfastError('INVALID_CID', `hash 0x${code.toString(16)} cannot be checked by this node`)
}

async function digest(name: string, webName: string, bytes: Uint8Array): Promise<Uint8Array> {
  // WebCrypto does not take shared memory.
  const isHere = bytes.length <= INLINE_HASH_BYTES || bytes.buffer instanceof SharedArrayBuffer
  if (isHere) return hash(name, bytes, 'buffer')
  return new Uint8Array(await webcrypto.subtle.digest(webName, bytes as Uint8Array<ArrayBuffer>))
}
