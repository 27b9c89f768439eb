import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import type { TakenSource } from '../content/taken-source.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Possessor } from '../ledger/possessor.ts'
import type { ClusterBackend } from './cluster-backend.ts'

export interface TakeOptions {
  /** `ADMITTED` for a DAG that this node has accepted before. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

export interface StageOptions {
  /**
   * True to write nothing until the second block or the first large block. A commit can store a single small block
   * itself.
   */
  late?: boolean
  /** Returns the party that sends the blocks. Default: the node itself. */
  by?: () => Possessor
}

/** Accepts DAGs block by block. A staged DAG is not visible until it is committed with a record. */
export interface Staging {
  /** Starts a DAG that the caller must commit or abandon. */
  stage(options?: StageOptions): Promise<StagedDag>
  resume(rootId: number): StagedDag
  /**
   * Stages a complete DAG from `source`. Claims stored blocks of this backend only by the right of the source. Resolves
   * when all blocks are stored durably. On failure, the staged DAG is abandoned.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if the source lacks a block, `BLOCK_DAMAGED` if a block has the wrong hash,
   * `VALIDATION` for more than `maxBlocks` blocks
   */
  take(cid: CID, source: TakenSource, options: TakeOptions): Promise<StagedDag>
}

/** Backend whose holds the ledger stores. */
export interface LedgerBackend extends ClusterBackend {
  readonly id: number
}

/**
 * Backend whose blocks are in the engine's own ledger. Uploads can be staged on the backend before their cluster is
 * known.
 */
export interface StagingBackend extends LedgerBackend {
  readonly staging: Staging
  readonly reader: BlockSource
}

/** @throws HoldfastError `UNAVAILABLE` if the backend cannot stage DAGs */
export function stagingOf(backend: ClusterBackend): StagingBackend {
  if (hasStaging(backend)) return backend
  throw new HoldfastError('UNAVAILABLE', 'the cluster does not accept content block by block')
}

function hasStaging(backend: ClusterBackend): backend is StagingBackend {
  return 'staging' in backend && backend.staging !== null
}
