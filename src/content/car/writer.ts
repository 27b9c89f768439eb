import * as dagCbor from '@ipld/dag-cbor'
import type { CID } from 'multiformats/cid'
import { varintBytes } from '../../ipld/varint.ts'

export function carHeader(roots: readonly CID[]): Uint8Array {
  const header = dagCbor.encode({ version: 1, roots: [...roots] })
  return Buffer.concat([varintBytes(header.length), header])
}

/** Returns the bytes that precede a block in a CAR: the length of the section and the CID. */
export function carBlockHead(cid: CID, length: number): Uint8Array {
  return Buffer.concat([varintBytes(cid.bytes.length + length), cid.bytes])
}
