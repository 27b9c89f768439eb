import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import type { CID } from 'multiformats/cid'

/** How a CAR, version 1, begins. */
export function carHeader(roots: readonly CID[]): Uint8Array {
  const header = dagCbor.encode({ version: 1, roots: [...roots] })
  return Buffer.concat([varintOf(header.length), header])
}

/** What stands before the bytes of a block in a CAR. */
export function carBlockHead(cid: CID, length: number): Uint8Array {
  return Buffer.concat([varintOf(cid.bytes.length + length), cid.bytes])
}

function varintOf(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}
