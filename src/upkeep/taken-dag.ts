import type { StagingBackend } from '../clusters/staging-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { ADMITTED } from '../content/dag/walk.ts'
import { RecordedBlocks } from '../content/taken-source.ts'
import { listContent } from '../content/unixfs/content-listing.ts'
import { cidOf } from '../ipld/cid.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import type { OwnedDag, WholeDag } from '../ledger/whole-dag.ts'

/**
 * Copies a DAG that a node has accepted before into a backend. The source checks each block. The caller places a hold on
 * the staged root, or abandons it.
 *
 * @throws HoldfastError `CID_NOT_FOUND` if the source lacks a block, `UNAVAILABLE` if it does not answer
 */
export async function takeDag(
  dag: OwnedDag,
  home: StagingBackend,
  source: BlockSource,
  signal: AbortSignal,
): Promise<{ staged: StagedDag; stagedRootId: number; dag: WholeDag }> {
  const cid = cidOf(dag)
  const staged = await home.staging.take(cid, new RecordedBlocks(source), { maxBlocks: ADMITTED, signal })
  try {
    const contentSize = await listContent(staged, cid, staged, signal)
    await staged.settle()
    if (dag.owner !== PUBLIC) await staged.close()
    const { codec, multihash, owner } = dag
    return { staged, stagedRootId: staged.rootId, dag: { codec, multihash, owner, ...staged.sizes(contentSize) } }
  } catch (error) {
    await staged.abandon()
    throw error
  }
}
