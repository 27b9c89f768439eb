import type { DagIdentity } from '../ipld/cid.ts'

export interface RootFile {
  path: string
  codec: number
  multihash: Uint8Array
  size: number
}

/** How much a DAG is. */
export interface DagSizes {
  /** Bytes of the files in it. */
  contentSize: number
  /** Bytes of its distinct blocks. */
  dagSize: number
  /** Distinct blocks. */
  blocks: number
  /** What they count against a quota, in bytes. */
  charge: number
  /** Files that are listed below it. */
  fileCount: number
}

/** What is known of a DAG once all of it is stored. */
export interface WholeDag extends DagIdentity, DagSizes {}
