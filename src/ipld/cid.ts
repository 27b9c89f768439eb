import { base32 } from 'multiformats/bases/base32'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { bases } from 'multiformats/basics'
import type { MultibaseDecoder } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { HoldfastError } from '../domain/errors.ts'

// Base36 and base58 take quadratic time, so only this file decodes CIDs, or writes them in these bases.

/** Multicodec codes of the codecs whose links the node can walk. */
export const CODEC = {
  raw: 0x55,
  dagPb: 0x70,
  cbor: 0x51,
  dagCbor: 0x71,
  json: 0x0200,
  dagJson: 0x0129,
} as const

/** Multicodec codes of the hashes the node can check. */
export const HASH = { identity: 0x00, sha2_256: 0x12, sha2_512: 0x13 } as const

/** Identity of a DAG, its codec and multihash: `Qm…` and its version 1 form are the same content. */
export interface DagIdentity {
  /** Multicodec code. */
  codec: number
  /** Code, length and digest. */
  multihash: Uint8Array
}

/** Most bytes of a digest: of an identity CID in new content and in requests, whatever its codec (IPIP-0512). */
export const LONGEST_DIGEST = 128
/** Most bytes of an identity digest in content that version 0.2.0 stored. */
const LONGEST_STORED_IDENTITY = 16 * 1024
/** Bytes of a version, a codec, a hash and a length, each as a varint. */
const LONGEST_PREFIX = 4 * 9
/** Most characters of a CID in base32, which takes linear time: no other text of a CID is longer. */
export const LONGEST_BASE32 = Math.ceil(((LONGEST_STORED_IDENTITY + LONGEST_PREFIX) * 8) / 5) + 1
/** Most characters of a CID in any other base; in base58 that takes about a millisecond. */
const LONGEST_TEXT = 512
/** Bytes of a CID of version 0: the code of SHA-256, a length and a digest. */
const VERSION_0_BYTES = 34
/** Characters of a SHA-256 multihash in base58, with room to spare. */
const LONGEST_MULTIHASH_TEXT = 64
/** Most characters of a label in DNS. */
export const LONGEST_LABEL = 63
/** Bytes of a long identity CID that messages show. */
const SHOWN_BYTES = 40

const DECODERS = new Map<string, MultibaseDecoder<string>>(
  Object.values(bases).map(base => [base.prefix, base.decoder]),
)
const CODECS = new Set<number>(Object.values(CODEC))
const HASHES = new Set<number>(Object.values(HASH))

/**
 * Reads a CID of either version in any multibase. Checks the length before decoding.
 *
 * @throws Error if the text is no CID, or is too long.
 */
export function cidOfText(text: string): CID {
  const prefix = String.fromCodePoint(text.codePointAt(0) ?? 0)
  if (text.length > (prefix === base32.prefix ? LONGEST_BASE32 : LONGEST_TEXT)) throw tooLong()
  return checked(CID.parse(text, DECODERS.get(prefix)))
}

/**
 * Reads a CID from exactly these bytes.
 *
 * @throws Error if they are no CID, or one that is too long.
 */
export function cidOfBytes(bytes: Uint8Array): CID {
  if (bytes.length > LONGEST_STORED_IDENTITY + LONGEST_PREFIX) throw tooLong()
  return checked(CID.decode(bytes))
}

/**
 * Reads the CID at the beginning of the bytes, and returns what follows it.
 *
 * @throws Error if they do not begin with a CID, or begin with one that is too long.
 */
export function firstCid(bytes: Uint8Array): [cid: CID, rest: Uint8Array] {
  const [cid, rest] = CID.decodeFirst(bytes)
  return [checked(cid), rest]
}

/** Refuses a CID whose text would take quadratic time or be very long: only base32 and `Qm…` are written. */
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
 * Reads a CID of either version in any multibase.
 *
 * @param field what the caller calls it, for the message
 * @throws HoldfastError `INVALID_CID` for anything else, and for a codec or hash that this node cannot walk, which the
 * message names.
 */
export function parseCid(text: string, field = 'cid'): CID {
  let cid: CID
  try {
    cid = cidOfText(text.trim())
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', `${field} is not a valid content identifier`, { cause })
  }
  checkWalkable(cid, field)
  return cid
}

/** @throws HoldfastError `INVALID_CID` naming the codec or hash that this node cannot walk. */
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
 * Checks that a CID may be part of new content.
 *
 * @param field what the caller calls it, for the message; default: the CID
 * @throws HoldfastError `INVALID_CID` naming the codec or hash that this node cannot walk, or the limit of identity CIDs.
 */
export function checkNew(cid: CID, field?: string): void {
  checkWalkable(cid, field)
  if (!isLongIdentity(cid)) return
  const limit = `more than the ${LONGEST_DIGEST} bytes that an identity CID may have`
  throw new HoldfastError('INVALID_CID', `${field ?? shown(cid)} has ${cid.multihash.size} bytes in itself, ${limit}`)
}

/** Checks whether an identity CID has more bytes than new content may have. */
export function isLongIdentity({ multihash }: CID): boolean {
  return multihash.code === HASH.identity && multihash.size > LONGEST_DIGEST
}

/**
 * Checks whether a CID needs no record to be served, because it contains its bytes. A long one, which 0.2.0 stored,
 * needs one.
 */
export function isInline(cid: CID): boolean {
  return cid.multihash.code === HASH.identity && !isLongIdentity(cid)
}

/** Formats a CID for messages. */
function shown(cid: CID): string {
  return isLongIdentity(cid) ? `${base32.encode(cid.bytes.subarray(0, SHOWN_BYTES))}…` : cid.toString()
}

/** Formats a multihash in base58, without a multibase prefix; null if it is too long. */
export function base58OfMultihash({ bytes, size }: CID['multihash']): string | null {
  return size > LONGEST_DIGEST ? null : base58btc.encode(bytes).slice(base58btc.prefix.length)
}

/** Reads a multihash in base58, without a multibase prefix. @throws Error if it is none, or longer than SHA-256's. */
export function multihashOfBase58(text: string): Digest.Digest<number, number> {
  if (text.length > LONGEST_MULTIHASH_TEXT) throw tooLong()
  return Digest.decode(base58btc.decode(base58btc.prefix + text))
}

/** Formats a CID in version 1 as a host name label, in case-insensitive letters; null if it is too long. */
export function labelOfCid({ code, multihash }: CID): string | null {
  if (multihash.size > LONGEST_LABEL) return null
  const v1 = CID.createV1(code, multihash)
  return [v1.toString(base32), v1.toString(base36)].find(text => text.length <= LONGEST_LABEL) ?? null
}

/** Returns the version 1 CID of a DAG. */
export function cidOf({ codec, multihash }: DagIdentity): CID {
  return CID.createV1(codec, Digest.decode(multihash))
}

export function identityOf(cid: CID): DagIdentity {
  return { codec: cid.code, multihash: cid.multihash.bytes }
}

/** Returns the key of a DAG in maps, several times faster than the text of a CID. */
export function dagKey({ code, multihash: { bytes } }: CID): string {
  return `${code} ${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')}`
}
