import type { CID } from 'multiformats/cid'
import { cidOfBytes, cidOfText } from '../../ipld/cid.ts'

/** A token of a document of the IPLD data model, in the order of its bytes. */
export type DocumentToken =
  | { kind: 'open' | 'close'; isMap: boolean }
  /** Precedes each value of a map. */
  | { kind: 'key'; name: string }
  | { kind: 'value'; value: DocumentValue }
  | LinkToken

/** A link, decoded only on request: a document can have tens of thousands. */
export interface LinkToken {
  kind: 'link'
  /** The CID as DAG-JSON or DAG-CBOR encodes it. */
  link: string | Uint8Array
}

/** Decodes a link. @throws Error if it is not a valid CID, or too long. */
export function cidOfLink({ link }: LinkToken): CID {
  return typeof link === 'string' ? cidOfText(link) : cidOfBytes(link)
}

export type DocumentValue = string | number | bigint | boolean | null | Uint8Array

/** Limit of levels in a document. */
export const DEEPEST_DOCUMENT = 100_000
