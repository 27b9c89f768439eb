import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { carBlockHead, carHeader } from '../../src/content/car/writer.ts'
import { hasLinks, newLinks } from '../../src/content/dag/links.ts'
import { ADMITTED } from '../../src/content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { dagKey, HASH } from '../../src/ipld/cid.ts'

/** Maximum number of concurrent reads: the block to send next, and the blocks after it. */
const AHEAD = 8

export interface CarOptions {
  signal: AbortSignal
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/**
 * Yields a CAR version 1 with each block of a DAG once.
 * @throws HoldfastError `CID_NOT_FOUND` if the source lacks a block; other errors of the source
 */
export async function* carBytes(
  root: CID,
  source: BlockSource,
  { signal, onProgress }: CarOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield carHeader([root])
  const seen = new Set([dagKey(root)])
  // Walk the DAG depth first, so that the list of blocks to read stays short.
  const frontier = [root]
  const reads: Array<{ cid: CID; bytes: Promise<Uint8Array> }> = []
  const progress = { blocks: 0, bytes: 0 }
  for (;;) {
    while (reads.length < AHEAD) {
      const cid = frontier.pop()
      if (cid === undefined) break
      const bytes = readFrom(source, cid, signal)
      // Avoid an unhandled rejection. The `await` below throws the error.
      bytes.catch(() => undefined)
      reads.push({ cid, bytes })
    }
    const next = reads.shift()
    if (next === undefined) return
    const bytes = await next.bytes
    signal.throwIfAborted()
    if (hasLinks(next.cid)) frontier.push(...(await newLinks(next.cid, bytes, { seen, maxBlocks: ADMITTED, signal })))
    if (next.cid.multihash.code === HASH.identity) continue
    progress.blocks++
    progress.bytes += bytes.length
    yield carBlockHead(next.cid, bytes.length)
    yield bytes
    onProgress?.({ ...progress })
  }
}

export function sourceWith({ cid, bytes }: { cid: CID; bytes: Uint8Array }, below: BlockSource): BlockSource {
  return { read: async (wanted, options) => (wanted.equals(cid) ? bytes : below.read(wanted, options)) }
}

async function readFrom(source: BlockSource, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
  if (cid.multihash.code === HASH.identity) return cid.multihash.digest
  try {
    return await source.read(cid, { signal })
  } catch (error) {
    if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    throw new HoldfastError('CID_NOT_FOUND', `the DAG is incomplete on this node: ${error.message}`, { cause: error })
  }
}
