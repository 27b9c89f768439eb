import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { Possessor } from '../ledger/possessor.ts'
import type { BaseModules } from './base-modules.ts'

/** Finds content on another node, or in a cluster on another system, unless this node knows it only for others. */
export async function foundBeside(
  cid: CID,
  by: Possessor,
  { nodes, clusters }: Pick<BaseModules, 'nodes' | 'clusters'>,
): Promise<{ source: BlockSource } | null> {
  const found = (await nodes.member?.find(cid, by)) ?? null
  if (found !== null) return found
  for (const id of clusters.remote.keys()) {
    if (clusters.possessed.isOfOthers(cid, id, by)) continue
    const source = clusters.registry.readerOf(id)
    const isThere = await source?.read(cid).then(
      () => true,
      () => false,
    )
    if (source !== null && isThere === true) return { source }
  }
  return null
}
