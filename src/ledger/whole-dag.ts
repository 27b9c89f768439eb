import type { DagIdentity } from '../ipld/cid.ts'

export interface RootFile {
  path: string
  codec: number
  multihash: Uint8Array
  size: number
}

/** Sizes of a DAG. */
export interface DagSizes {
  /** Total size of the files in bytes. */
  contentSize: number
  /** Total size of the distinct blocks in bytes. */
  dagSize: number
  /** Number of distinct blocks. */
  blocks: number
  /** Bytes that the DAG counts against a quota. */
  charge: number
  /** Number of files below the root. */
  fileCount: number
}

/** Identity of a root on a backend. */
export interface OwnedDag extends DagIdentity {
  /** 0 for a public root, or the number of the account that owns the root. */
  owner: number
}

/** A DAG that is stored completely. */
export interface WholeDag extends OwnedDag, DagSizes {}
