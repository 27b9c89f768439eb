import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ClusterBackend } from './cluster-backend.ts'

export interface TakeOptions {
  /** Limit of distinct blocks; `ADMITTED` for a DAG that this node has accepted before. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/** Accepts DAGs block by block. A staged DAG is invisible until it is committed with a record. */
export interface Staging {
  /**
   * Starts an empty staged DAG. The caller commits or abandons it.
   *
   * @param options.late writes nothing before the second block, or the first large one: a commit can store a single
   * small block
   */
  stage(options?: { late?: boolean }): Promise<StagedDag>
  /** Resumes a staged DAG of an earlier attempt. */
  resume(rootId: number): StagedDag
  /**
   * Stages a complete DAG from `source`. If `source` is this backend, no bytes are copied. Resolves when all blocks are
   * durable. On failure the staged DAG is abandoned.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if the source lacks a block, `BLOCK_DAMAGED` if a block has the wrong hash,
   * `VALIDATION` for more than `maxBlocks`
   */
  take(cid: CID, source: BlockSource, options: TakeOptions): Promise<StagedDag>
}

/** Backend with its number in the ledger, which counts its holds. */
export interface LedgerBackend extends ClusterBackend {
  readonly id: number
}

/** Backend in the engine's own ledger. It can stage uploads before their cluster is known. */
export interface StagingBackend extends LedgerBackend {
  readonly staging: Staging
  readonly reader: BlockSource
}

/**
 * Returns the backend as a staging backend.
 *
 * @throws HoldfastError `UNAVAILABLE` if it cannot stage
 */
export function stagingOf(backend: ClusterBackend): StagingBackend {
  if (hasStaging(backend)) return backend
  throw new HoldfastError('UNAVAILABLE', 'the cluster does not accept content block by block')
}

function hasStaging(backend: ClusterBackend): backend is StagingBackend {
  return 'staging' in backend && backend.staging !== null
}
