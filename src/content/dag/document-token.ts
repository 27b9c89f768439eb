import type { CID } from 'multiformats/cid'
import { cidOfBytes, cidOfText } from '../../ipld/cid.ts'

/** A step through a document of the IPLD data model, in the order in which it is written. */
export type DocumentToken =
  | { kind: 'open' | 'close'; isMap: boolean }
  /** Comes before each value of a map. */
  | { kind: 'key'; name: string }
  | { kind: 'value'; value: DocumentValue }
  | LinkToken

/** A link, which is decoded only if something follows it: a document can have tens of thousands. */
export interface LinkToken {
  kind: 'link'
  /** A CID as DAG-JSON or DAG-CBOR has it. */
  link: string | Uint8Array
}

/** @throws Error if a link is no CID, or one that is too long. */
export function cidOfLink({ link }: LinkToken): CID {
  return typeof link === 'string' ? cidOfText(link) : cidOfBytes(link)
}

export type DocumentValue = string | number | bigint | boolean | null | Uint8Array

/** Levels that a document may have; beyond them it is refused. */
export const DEEPEST_DOCUMENT = 100_000
