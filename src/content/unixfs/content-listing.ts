import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../dag/staged-dag.ts'
import { type FileTotals, kindOf, listFiles } from './unixfs-files.ts'

/** Limit of repeated paths, listed when a directory occurs again: a base, and more for each block. */
const REPEATED_PATHS = 10_000
const REPEATED_PATHS_PER_BLOCK = 10

/** Checks during a listing; either may throw to refuse the content. */
export interface ListingChecks {
  /** Receives the content bytes of each file below a directory. */
  file(size: number): void
  /** Receives the totals below a directory, repeats included. */
  directory(totals: FileTotals): void
}

/**
 * Stores the files below a directory root, and returns the content bytes. A few blocks can be linked from any number of
 * paths, so the number of blocks limits the repeats that are stored.
 *
 * @param blocks number of blocks below the root
 */
export async function listContent(
  staged: StagedDag,
  cid: CID,
  blocks: number,
  signal?: AbortSignal,
  checks?: ListingChecks,
): Promise<number> {
  const { kind, size } = kindOf(cid, await staged.store.get(cid))
  if (kind !== 'directory') return size
  const totals = await listFiles(cid, {
    blocks: staged.store,
    maxRepeats: REPEATED_PATHS + REPEATED_PATHS_PER_BLOCK * blocks,
    onFile: async file => {
      checks?.file(file.size)
      if (file.path !== null) await staged.addFile(file.path, file.cid, file.size)
    },
    signal,
  })
  checks?.directory(totals)
  return totals.bytes
}
