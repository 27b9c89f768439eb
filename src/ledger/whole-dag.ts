import type { DagIdentity } from '../ipld/cid.ts'

export interface RootFile {
  path: string
  codec: number
  multihash: Uint8Array
  size: number
}

/** Sizes of a DAG. */
export interface DagSizes {
  /** Sum of the sizes of the files in the DAG, in bytes. */
  contentSize: number
  /** Sum of the sizes of the distinct blocks of the DAG, in bytes. */
  dagSize: number
  /** Number of distinct blocks of the DAG. */
  blocks: number
  /** Number of bytes that the DAG counts against a quota. */
  charge: number
  /** Number of files below the root of the DAG. */
  fileCount: number
}

/** The identity and sizes of a DAG that is stored completely. */
export interface WholeDag extends DagIdentity, DagSizes {}
