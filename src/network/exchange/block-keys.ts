import type { CID } from 'multiformats/cid'

/** CIDs with the same multihash share one key, whatever their version and codec. */
export function keyOfMultihash(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}

export function keyOfCid(cid: CID): string {
  return keyOfMultihash(cid.multihash.bytes)
}
