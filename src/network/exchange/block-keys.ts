import type { CID } from 'multiformats/cid'

/** Returns the map key of a block. CIDs of any version and codec with the same multihash share it. */
export function keyOfMultihash(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}

export function keyOfCid(cid: CID): string {
  return keyOfMultihash(cid.multihash.bytes)
}
