import type { CID } from 'multiformats/cid'

/** A step through a document of the IPLD data model, in the order in which it is written. */
export type DocumentToken =
  | { kind: 'open' | 'close'; isMap: boolean }
  /** Comes before each value of a map. */
  | { kind: 'key'; name: string }
  | { kind: 'value'; value: DocumentValue }
  | { kind: 'link'; cid: CID }

export type DocumentValue = string | number | bigint | boolean | null | Uint8Array

/** Levels that a document may have; beyond them it is refused. */
export const DEEPEST_DOCUMENT = 100_000
