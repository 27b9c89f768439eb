import type { CID } from 'multiformats/cid'
import type { StagedDag } from '../content/staged-dag.ts'
import { blockstoreOf, filesBelow, kindOf } from '../content/unixfs-files.ts'

/** Notes the files below a directory root, and tells the content bytes of what was pinned. */
export async function listContent(staged: StagedDag, cid: CID): Promise<number> {
  const { kind, size } = kindOf(cid, await staged.store.get(cid))
  if (kind !== 'directory') return size
  let total = 0
  for await (const file of filesBelow(
    cid,
    blockstoreOf(child => staged.store.get(child)),
  )) {
    await staged.addFile(file.path, file.cid, file.size)
    total += file.size
  }
  return total
}
