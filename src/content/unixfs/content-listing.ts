import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../dag/staged-dag.ts'
import { type FileTotals, kindOf, listFiles } from './unixfs-files.ts'

/** Paths that are told of again where the same directory is met again: so many, and ten more for each block. */
const REPEATED_PATHS = 10_000
const REPEATED_PATHS_PER_BLOCK = 10

/** What the content is told to as it is listed; either may throw to refuse it. */
export interface ListingChecks {
  /** The content bytes of each file below a directory. */
  file(size: number): void
  /** What is below a directory, repeats included. */
  directory(totals: FileTotals): void
}

/**
 * Notes the files below a directory root, and tells the content bytes of what was pinned. The same few blocks can
 * be linked from any number of paths, so repeats are noted only as far as its blocks warrant.
 *
 * @param blocks how many there are below the root
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
