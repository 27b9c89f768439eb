import type { CID } from 'multiformats/cid'

/** Returns a map key for a multihash. The key is several times faster to compute than the text of a CID. */
export function keyOfMultihash(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}

/** Returns a map key for a block. CIDs with the same multihash share one key, whatever their version and codec. */
export function keyOfCid(cid: CID): string {
  return keyOfMultihash(cid.multihash.bytes)
}
