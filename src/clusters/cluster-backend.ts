import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../content/staged-dag.ts'
import type { DagIdentity } from '../domain/cid.ts'

/** Somewhere to copy blocks from. */
export interface BlockSource {
  /** Bytes that hash to the CID. @throws HoldfastError `NOT_FOUND`, `BLOCK_DAMAGED` */
  read(cid: CID): Promise<Uint8Array>
}

/**
 * What holds the content of one or more clusters. A DAG comes in staged: nothing shows it, and whoever staged it
 * has it completed together with a record, or abandons it.
 */
export interface ClusterBackend extends BlockSource {
  /** Stable number of the backend in the ledger. */
  readonly id: number
  /** Starts an empty staged DAG, for an upload. */
  stage(): Promise<StagedDag>
  /** Goes on with a staged DAG of an earlier attempt. */
  resume(rootId: number): StagedDag
  /**
   * Stages a whole DAG that `source` has. From the backend itself nothing is copied. Resolves when all of it is
   * durable; on failure the staged DAG is abandoned.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if a block is missing at the source, `BLOCK_DAMAGED` if one is wrong.
   */
  pin(cid: CID, source: BlockSource, options?: { signal?: AbortSignal | undefined }): Promise<StagedDag>
  /** The last record that needed the DAG is gone: its blocks may go in time. */
  unpin(dag: DagIdentity): void
  /** Whether the backend holds the whole DAG for some record. */
  status(dag: DagIdentity): 'pinned' | 'unpinned'
}
