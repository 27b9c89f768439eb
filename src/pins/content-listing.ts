import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../content/staged-dag.ts'
import { blockstoreOf, kindOf, listFiles } from '../content/unixfs-files.ts'

/** A directory is listed as far as this many paths, and ten more for each of its blocks. */
const LISTED_PATHS = 100_000
const LISTED_PATHS_PER_BLOCK = 10

/**
 * Notes the files below a directory root, and tells the content bytes of what was pinned. The same few blocks can
 * be linked from any number of paths, so a directory is listed only as far as its blocks warrant.
 *
 * @param blocks how many there are below the root
 * @param onFile called with the content bytes of each file below a directory; may throw to refuse them
 */
export async function listContent(
  staged: StagedDag,
  cid: CID,
  blocks: number,
  signal?: AbortSignal,
  onFile: (size: number) => void = () => undefined,
): Promise<number> {
  const { kind, size } = kindOf(cid, await staged.store.get(cid))
  if (kind !== 'directory') return size
  return listFiles(cid, {
    storage: blockstoreOf(child => staged.store.get(child)),
    maxPaths: LISTED_PATHS + LISTED_PATHS_PER_BLOCK * blocks,
    onFile: file => {
      onFile(file.size)
      return staged.addFile(file.path, file.cid, file.size)
    },
    signal,
  })
}
