import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../dag/staged-dag.ts'
import { type FileTotals, kindOf, listFiles } from './unixfs-files.ts'

/** Maximum number of paths that are listed again when a directory occurs repeatedly: a base, and a number per block. */
const REPEATED_PATHS = 10_000
const REPEATED_PATHS_PER_BLOCK = 10
/** Maximum length of all listed paths together: a base, and a number for each quota byte. Long parents could make more. */
const PATH_CHARACTERS = 1024 ** 2
const PATH_CHARACTERS_PER_BYTE = 16

/** Checks during a listing. Either function may throw to reject the content. */
export interface ListingChecks {
  file(size: number): void
  /** The totals include repeated files. */
  directory(totals: FileTotals): void
}

/**
 * Stores the list of files below a directory root, and returns the size of the content in bytes. The number of blocks
 * limits how many repeated paths are stored, and their quota bytes limit the text of all paths.
 *
 * @param extent of the blocks below the root
 */
export async function listContent(
  staged: StagedDag,
  cid: CID,
  extent: { readonly blockCount: number; readonly charge: number },
  signal?: AbortSignal,
  checks?: ListingChecks,
): Promise<number> {
  const { kind, size } = kindOf(cid, await staged.get(cid))
  if (kind !== 'directory') return size
  let room = PATH_CHARACTERS + PATH_CHARACTERS_PER_BYTE * extent.charge
  const totals = await listFiles(cid, {
    blocks: { get: block => staged.get(block), sizeOf: block => staged.store.sizeOf(block) },
    maxRepeats: REPEATED_PATHS + REPEATED_PATHS_PER_BLOCK * extent.blockCount,
    onFile: async file => {
      checks?.file(file.size)
      if (file.path === null) return
      room -= file.path.length
      if (room >= 0) await staged.addFile(file.path, file.cid, file.size)
    },
    signal,
  })
  checks?.directory(totals)
  return totals.bytes
}
