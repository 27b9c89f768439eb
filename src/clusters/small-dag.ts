import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import { carBlockHead, carHeader } from '../content/car/writer.ts'
import { hasLinks, newLinks } from '../content/dag/links.ts'
import { ADMITTED } from '../content/dag/walk.ts'
import { dagKey, HASH } from '../ipld/cid.ts'

/** DAGs of no more bytes are handed over together with others. */
export const SMALL_DAG_BYTES = 64 * 1024

export interface DagBlock {
  cid: CID
  bytes: Uint8Array
}

/**
 * All blocks of a DAG, each once, if they are few bytes; null if they are not, or not all of it is to be had.
 *
 * @throws what the signal was aborted with
 */
export async function smallDag(root: CID, source: BlockSource, signal: AbortSignal): Promise<DagBlock[] | null> {
  const blocks: DagBlock[] = []
  const seen = new Set([dagKey(root)])
  const frontier = [root]
  let size = 0
  for (let cid = frontier.pop(); cid !== undefined; cid = frontier.pop()) {
    signal.throwIfAborted()
    const isInline = cid.multihash.code === HASH.identity
    // Whoever sends it block by block tells why one is not to be had.
    const bytes = isInline ? cid.multihash.digest : await source.read(cid).catch(() => null)
    size += bytes?.length ?? 0
    if (bytes === null || size > SMALL_DAG_BYTES) return null
    if (!isInline) blocks.push({ cid, bytes })
    if (hasLinks(cid)) frontier.push(...(await newLinks(cid, bytes, { seen, maxBlocks: ADMITTED, signal })))
  }
  return blocks
}

/** A CAR, version 1, of a few blocks, in one piece. */
export async function* carOf(root: CID, blocks: Iterable<DagBlock>): AsyncGenerator<Uint8Array, void, undefined> {
  const parts = [carHeader([root])]
  for (const { cid, bytes } of blocks) parts.push(carBlockHead(cid, bytes.length), bytes)
  yield Buffer.concat(parts)
}
