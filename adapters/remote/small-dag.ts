import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { carBlockHead, carHeader } from '../../src/content/car/writer.ts'
import { hasLinks, newLinks } from '../../src/content/dag/links.ts'
import { ADMITTED } from '../../src/content/dag/walk.ts'
import { dagKey, HASH } from '../../src/ipld/cid.ts'

/** Maximum size of a small DAG. One request carries several small DAGs. */
export const SMALL_DAG_BYTES = 64 * 1024

export interface DagBlock {
  cid: CID
  bytes: Uint8Array
}

/**
 * Returns each block of a small DAG once, with the root first. Returns null if the DAG is large or a block is missing.
 * @throws the reason of an aborted signal
 */
export async function smallDag(root: CID, source: BlockSource, signal: AbortSignal): Promise<DagBlock[] | null> {
  const blocks: DagBlock[] = []
  const seen = new Set([dagKey(root)])
  const frontier = [root]
  let size = 0
  for (let cid = frontier.pop(); cid !== undefined; cid = frontier.pop()) {
    signal.throwIfAborted()
    const isInline = cid.multihash.code === HASH.identity
    // Ignore the error. The caller then uploads the DAG block by block, and that upload reports the missing block.
    const bytes = isInline ? cid.multihash.digest : await source.read(cid).catch(() => null)
    size += bytes?.length ?? 0
    if (bytes === null || size > SMALL_DAG_BYTES) return null
    if (!isInline) blocks.push({ cid, bytes })
    if (hasLinks(cid)) frontier.push(...(await newLinks(cid, bytes, { seen, maxBlocks: ADMITTED, signal })))
  }
  return blocks
}

/** Yields a CAR version 1 as a single chunk. */
export async function* carOf(root: CID, blocks: Iterable<DagBlock>): AsyncGenerator<Uint8Array, void, undefined> {
  const parts = [carHeader([root])]
  for (const { cid, bytes } of blocks) parts.push(carBlockHead(cid, bytes.length), bytes)
  yield Buffer.concat(parts)
}
