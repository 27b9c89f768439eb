import type { CID } from 'multiformats/cid'
import { cidOfBytes, cidOfText } from '../../ipld/cid.ts'

/** A token of an IPLD document. Tokens come in the order of the document's bytes. */
export type DocumentToken =
  | { kind: 'open' | 'close'; isMap: boolean }
  /** The key of an entry of a map. The entry's value follows it. */
  | { kind: 'key'; name: string }
  | { kind: 'value'; value: DocumentValue }
  | LinkToken

/** A link that is decoded only on request, because a document can have tens of thousands of links. */
export interface LinkToken {
  kind: 'link'
  /** The CID as DAG-JSON or DAG-CBOR encodes it. */
  link: string | Uint8Array
}

/** Decodes a link. @throws Error if the link is not a valid CID or is too long */
export function cidOfLink({ link }: LinkToken): CID {
  return typeof link === 'string' ? cidOfText(link) : cidOfBytes(link)
}

export type DocumentValue = string | number | bigint | boolean | null | Uint8Array

/** Maximum number of levels in a document. */
export const DEEPEST_DOCUMENT = 100_000
