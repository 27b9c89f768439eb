import { base32 } from 'multiformats/bases/base32'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { bases } from 'multiformats/basics'
import type { MultibaseDecoder } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { HoldfastError } from '../domain/errors.ts'
import { keyOfCid } from './multihash-key.ts'

// Decoding base36 and base58 takes quadratic time. Only this file decodes CIDs, so that the length is always checked
// first.

/** Multicodec codes of the codecs that the node can parse. */
export const CODEC = {
  raw: 0x55,
  dagPb: 0x70,
  cbor: 0x51,
  dagCbor: 0x71,
  json: 0x0200,
  dagJson: 0x0129,
} as const

/** Multicodec codes of the hash functions that the node can compute. */
export const HASH = { identity: 0x00, sha2_256: 0x12, sha2_512: 0x13 } as const

/** Identity of a DAG: the codec and the multihash. A `Qm…` CID and its version 1 form have the same identity. */
export interface DagIdentity {
  /** Multicodec code. */
  codec: number
  /** Code of the hash function, length and digest. */
  multihash: Uint8Array
}

/** Maximum size in bytes of a digest. It also limits identity CIDs in new content and in requests (IPIP-0512). */
export const LONGEST_DIGEST = 128
/** Maximum size in bytes of an identity digest in content that version 0.2.0 stored. */
const LONGEST_STORED_IDENTITY = 16 * 1024
/** Maximum size in bytes of version, codec, hash code and length, each as a varint. */
const LONGEST_PREFIX = 4 * 9
/**
 * Maximum length of a CID in base32, in characters. It exceeds the other limits, because decoding base32 takes linear
 * time.
 */
export const LONGEST_BASE32 = Math.ceil(((LONGEST_STORED_IDENTITY + LONGEST_PREFIX) * 8) / 5) + 1
/** Maximum length of a CID in any other base, in characters. Decoding base58 of this length takes about 1 ms. */
const LONGEST_TEXT = 512
const VERSION_0_BYTES = 34
/** Maximum length of a multihash in base58, in characters. A SHA-256 multihash is shorter. */
const LONGEST_MULTIHASH_TEXT = 64
/** Maximum length of a DNS label, in characters. */
export const LONGEST_LABEL = 63
const SHOWN_BYTES = 40

const DECODERS = new Map<string, MultibaseDecoder<string>>(
  Object.values(bases).map(base => [base.prefix, base.decoder]),
)
const CODECS = new Set<number>(Object.values(CODEC))
const HASHES = new Set<number>(Object.values(HASH))

/** @throws Error if the text is not a CID or is too long */
export function cidOfText(text: string): CID {
  const prefix = String.fromCodePoint(text.codePointAt(0) ?? 0)
  if (text.length > (prefix === base32.prefix ? LONGEST_BASE32 : LONGEST_TEXT)) throw tooLong()
  return checked(CID.parse(text, DECODERS.get(prefix)))
}

/** @throws Error if the bytes are not exactly one CID or the CID is too long */
export function cidOfBytes(bytes: Uint8Array): CID {
  if (bytes.length > LONGEST_STORED_IDENTITY + LONGEST_PREFIX) throw tooLong()
  return checked(CID.decode(bytes))
}

/** @throws Error if the bytes do not start with a CID or the CID is too long */
export function firstCid(bytes: Uint8Array): [cid: CID, rest: Uint8Array] {
  const [cid, rest] = CID.decodeFirst(bytes)
  return [checked(cid), rest]
}

/** Rejects a CID that is too long to write as text. The node writes CIDs only in base32, or as `Qm…`. */
function checked(cid: CID): CID {
  const { version, multihash, bytes } = cid
  const longest = multihash.code === HASH.identity ? LONGEST_STORED_IDENTITY : LONGEST_DIGEST
  if (multihash.size > longest || (version === 0 && bytes.length !== VERSION_0_BYTES)) throw tooLong()
  return cid
}

function tooLong(): RangeError {
  return new RangeError('the CID is too long')
}

/**
 * Parses a CID from a request or the configuration.
 *
 * @param field name of the field in the error message
 * @throws HoldfastError `INVALID_CID` if the text is not a CID, or has a codec or hash that this node does not support
 */
export function parseCid(text: string, field = 'cid'): CID {
  let cid: CID
  try {
    cid = cidOfText(text.trim())
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', `${field} is not a valid content identifier, such as bafy… or Qm…`, {
      cause,
    })
  }
  checkWalkable(cid, field)
  return cid
}

/** Parses a CID. Returns null for each text that {@link parseCid} refuses. */
export function cidOrNull(text: string): CID | null {
  try {
    return parseCid(text)
  } catch {
    return null
  }
}

/** Returns whether a text is a CID, of any codec and hash. */
export function isCid(text: string): boolean {
  try {
    cidOfText(text)
    return true
  } catch {
    return false
  }
}

function checkWalkable(cid: CID, field?: string): void {
  if (!CODECS.has(cid.code)) {
    const code = `0x${cid.code.toString(16)}`
    throw new HoldfastError('INVALID_CID', `${field ?? shown(cid)} uses codec ${code}, which this node cannot walk`)
  }
  if (!HASHES.has(cid.multihash.code)) {
    const code = `0x${cid.multihash.code.toString(16)}`
    throw new HoldfastError('INVALID_CID', `${field ?? shown(cid)} uses hash ${code}, which this node cannot check`)
  }
}

/**
 * @param field name of the field in the error message; default: the CID itself
 * @throws HoldfastError `INVALID_CID` if this node does not support the codec or hash, or if an identity CID is too
 * long
 */
export function checkNew(cid: CID, field?: string): void {
  checkWalkable(cid, field)
  if (!isLongIdentity(cid)) return
  const limit = `more than the ${LONGEST_DIGEST} bytes that an identity CID may have`
  throw new HoldfastError('INVALID_CID', `${field ?? shown(cid)} has ${cid.multihash.size} bytes in itself, ${limit}`)
}

export function isLongIdentity({ multihash }: CID): boolean {
  return multihash.code === HASH.identity && multihash.size > LONGEST_DIGEST
}

/**
 * Returns whether a CID contains its own bytes and can be served without a record. A long identity CID from version
 * 0.2.0 needs a record.
 */
export function isInline(cid: CID): boolean {
  return cid.multihash.code === HASH.identity && !isLongIdentity(cid)
}

function shown(cid: CID): string {
  return isLongIdentity(cid) ? `${base32.encode(cid.bytes.subarray(0, SHOWN_BYTES))}…` : cid.toString()
}

/** Formats a multihash in base58, without a multibase prefix. Returns null if the multihash is too long. */
export function base58OfMultihash({ bytes, size }: CID['multihash']): string | null {
  return size > LONGEST_DIGEST ? null : base58btc.encode(bytes).slice(base58btc.prefix.length)
}

/** Decodes a multihash in base58, without a multibase prefix. @throws Error if the text is not a multihash */
export function multihashOfBase58(text: string): Digest.Digest<number, number> {
  if (text.length > LONGEST_MULTIHASH_TEXT) throw tooLong()
  return Digest.decode(base58btc.decode(base58btc.prefix + text))
}

/** Formats a CID as a DNS label, in a case-insensitive base. Returns null if the CID is too long. */
export function labelOfCid({ code, multihash }: CID): string | null {
  if (multihash.size > LONGEST_LABEL) return null
  const v1 = CID.createV1(code, multihash)
  return [v1.toString(base32), v1.toString(base36)].find(text => text.length <= LONGEST_LABEL) ?? null
}

export function cidOf({ codec, multihash }: DagIdentity): CID {
  return CID.createV1(codec, Digest.decode(multihash))
}

export function identityOf(cid: CID): DagIdentity {
  return { codec: cid.code, multihash: cid.multihash.bytes }
}

/** Returns a map key for a DAG. The key is several times faster to compute than the text of a CID. */
export function dagKey(cid: CID): string {
  return `${cid.code} ${keyOfCid(cid)}`
}
