import { bases } from 'multiformats/basics'
import type { MultibaseDecoder } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { HoldfastError } from './errors.ts'

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

/** A DAG is known by its codec and multihash: `Qm…` and its version 1 form are the same content. */
export interface DagIdentity {
  /** Multicodec code. */
  codec: number
  /** Code, length and digest. */
  multihash: Uint8Array
}

const LONGEST_CID = 512
const DECODERS = new Map<string, MultibaseDecoder<string>>(
  Object.values(bases).map(base => [base.prefix, base.decoder]),
)

const CODECS = new Set<number>(Object.values(CODEC))
const HASHES = new Set<number>(Object.values(HASH))

/**
 * Reads a CID of either version in any multibase.
 *
 * @param field what the caller calls it, for the message
 * @throws HoldfastError `INVALID_CID` for anything else, and for a codec or hash that this node cannot walk,
 * which the message names.
 */
export function parseCid(text: string, field = 'cid'): CID {
  const trimmed = text.trim()
  let cid: CID
  try {
    if (trimmed.length === 0 || trimmed.length > LONGEST_CID) throw new RangeError('length')
    cid = CID.parse(trimmed, DECODERS.get(String.fromCodePoint(trimmed.codePointAt(0) ?? 0)))
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', `${field} is not a valid content identifier`, { cause })
  }
  checkWalkable(cid, field)
  return cid
}

/** @throws HoldfastError `INVALID_CID` naming the codec or hash that this node cannot walk. */
export function checkWalkable(cid: CID, field = `${cid}`): void {
  if (!CODECS.has(cid.code)) {
    throw new HoldfastError(
      'INVALID_CID',
      `${field} uses codec 0x${cid.code.toString(16)}, which this node cannot walk`,
    )
  }
  if (!HASHES.has(cid.multihash.code)) {
    const code = `0x${cid.multihash.code.toString(16)}`
    throw new HoldfastError('INVALID_CID', `${field} uses hash ${code}, which this node cannot check`)
  }
}

/** The version 1 CID of a DAG. */
export function cidOf({ codec, multihash }: DagIdentity): CID {
  return CID.createV1(codec, Digest.decode(multihash))
}

export function identityOf(cid: CID): DagIdentity {
  return { codec: cid.code, multihash: cid.multihash.bytes }
}

/** What stands for a DAG in a map; several times faster than the text of a CID. */
export function dagKey({ code, multihash: { bytes } }: CID): string {
  return `${code} ${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')}`
}
