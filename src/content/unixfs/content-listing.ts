import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../dag/staged-dag.ts'
import { type FileTotals, kindOf, listFiles } from './unixfs-files.ts'

/**
 * Maximum number of paths that are listed again when a directory occurs repeatedly. The first is a base, to which the
 * second is added for each block.
 */
const REPEATED_PATHS = 10_000
const REPEATED_PATHS_PER_BLOCK = 10

/** Checks during a listing. Either function may throw to reject the content. */
export interface ListingChecks {
  /** Called with the size in bytes of each file below the directory. */
  file(size: number): void
  /** Called with the totals of the directory, including repeated files. */
  directory(totals: FileTotals): void
}

/**
 * Stores the list of files below a directory root, and returns the size of the content in bytes. A few blocks can be
 * linked from any number of paths, so the number of blocks limits how many repeated paths are stored.
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
