import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ClusterBackend } from './cluster-backend.ts'

export interface TakeOptions {
  /** Distinct blocks that the DAG may have; `ADMITTED` for one that this node has taken in before. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/** Takes DAGs in block by block: nothing shows them until they are completed together with a record. */
export interface Staging {
  /**
   * Starts an empty staged DAG. Whoever staged it has it completed, or abandons it.
   *
   * @param options.late nothing is written before it has two blocks, or a large one: a commit may store the only one
   */
  stage(options?: { late?: boolean }): Promise<StagedDag>
  /** Goes on with a staged DAG of an earlier attempt. */
  resume(rootId: number): StagedDag
  /**
   * Stages a whole DAG that `source` has. From the backend itself nothing is copied. Resolves when all of it is
   * durable; on failure the staged DAG is abandoned.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if a block is missing at the source, `BLOCK_DAMAGED` if one is wrong,
   * `VALIDATION` beyond `maxBlocks`.
   */
  take(cid: CID, source: BlockSource, options: TakeOptions): Promise<StagedDag>
}

/** A backend by its number in the ledger, where what it keeps is counted. */
export interface LedgerBackend extends ClusterBackend {
  readonly id: number
}

/** A backend on the engine's own ledger, on which uploads can be staged before their cluster is known. */
export interface StagingBackend extends LedgerBackend {
  readonly staging: Staging
  readonly reader: BlockSource
}

/**
 * The backend as one that takes DAGs in block by block.
 *
 * @throws HoldfastError `UNAVAILABLE` if it does not.
 */
export function stagingOf(backend: ClusterBackend): StagingBackend {
  if (hasStaging(backend)) return backend
  throw new HoldfastError('UNAVAILABLE', 'the cluster does not take content in block by block')
}

function hasStaging(backend: ClusterBackend): backend is StagingBackend {
  return 'staging' in backend && backend.staging !== null
}
