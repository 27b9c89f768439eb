import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'
import { malformed, type UnixfsNode } from './unixfs-node.ts'

type OpaqueNode = Extract<UnixfsNode, { kind: 'opaque' }>

/** A block that names lead to, and how many of them it took. */
export interface Found {
  cid: CID
  taken: number
}

const DECODERS = new Map<number, (bytes: Uint8Array) => unknown>([
  [CODEC.dagCbor, bytes => dagCbor.decode(bytes)],
  [CODEC.dagJson, bytes => dagJson.decode(bytes)],
])

/**
 * The first link on the way that names take through a DAG-CBOR or DAG-JSON document. Null if they lead to nothing,
 * or end inside the document: parts of a block have no address of their own.
 */
export function findLink(node: OpaqueNode, names: readonly string[]): Found | null {
  let value = decodeDocument(node)
  for (const [index, name] of names.entries()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
    value = Reflect.get(value, name)
    const cid = CID.asCID(value)
    if (cid !== null) return { cid, taken: index + 1 }
  }
  return null
}

/**
 * The document that a block is; undefined if its codec is of another kind.
 *
 * @throws HoldfastError `INVALID_CID` if it is not what its codec says.
 */
export function decodeDocument({ cid, bytes }: OpaqueNode): unknown {
  try {
    return DECODERS.get(cid.code)?.(bytes)
  } catch {
    throw malformed(cid, 'it is not what its codec says')
  }
}
