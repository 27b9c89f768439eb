import type { CID } from 'multiformats/cid'

/** What stands for a block in a map: its multihash, whatever the version and the codec of its CID. */
export function keyOfMultihash(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}

export function keyOfCid(cid: CID): string {
  return keyOfMultihash(cid.multihash.bytes)
}
