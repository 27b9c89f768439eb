import type { DagIdentity } from '../ipld/cid.ts'

export interface RootFile {
  path: string
  codec: number
  multihash: Uint8Array
  size: number
}

/** Sizes of a DAG. */
export interface DagSizes {
  /** Bytes of its files. */
  contentSize: number
  /** Bytes of its distinct blocks. */
  dagSize: number
  /** Number of its distinct blocks. */
  blocks: number
  /** Charge against a quota, in bytes. */
  charge: number
  /** Number of files listed below it. */
  fileCount: number
}

/** Identity and sizes of a DAG that is stored completely. */
export interface WholeDag extends DagIdentity, DagSizes {}
