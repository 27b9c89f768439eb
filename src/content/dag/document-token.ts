import type { CID } from 'multiformats/cid'
import { cidOfBytes, cidOfText } from '../../ipld/cid.ts'

export type DocumentToken =
  | { kind: 'open' | 'close'; isMap: boolean }
  | { kind: 'key'; name: string }
  | { kind: 'value'; value: DocumentValue }
  | LinkToken

/** Decoded only on request, because a document can have tens of thousands of links. */
export interface LinkToken {
  kind: 'link'
  /** The CID as DAG-JSON or DAG-CBOR encodes it. */
  link: string | Uint8Array
}

/** @throws Error if the link is not a valid CID or is too long */
export function cidOfLink({ link }: LinkToken): CID {
  return typeof link === 'string' ? cidOfText(link) : cidOfBytes(link)
}

export type DocumentValue = string | number | bigint | boolean | null | Uint8Array

export const DEEPEST_DOCUMENT = 100_000
