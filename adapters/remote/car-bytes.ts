import type { CID } from 'multiformats/cid'

import type { BlockSource } from '../../src/content/block-source.ts'
import { carBlockHead, carHeader } from '../../src/content/car/writer.ts'
import { hasLinks, newLinks } from '../../src/content/dag/links.ts'
import { ADMITTED } from '../../src/content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { dagKey, HASH } from '../../src/ipld/cid.ts'

/** Blocks that are being read ahead of the one that is sent. */
const AHEAD = 8

export interface CarOptions {
  signal: AbortSignal
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/**
 * A CAR, version 1, of a whole DAG, each block once.
 *
 * @throws HoldfastError `CID_NOT_FOUND` if the source lacks a block; what else reading throws
 */
export async function* carBytes(
  root: CID,
  source: BlockSource,
  { signal, onProgress }: CarOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield carHeader([root])
  const seen = new Set([dagKey(root)])
  // The newest first: the frontier then stays as small as the DAG is deep.
  const frontier = [root]
  const reads: Array<{ cid: CID; bytes: Promise<Uint8Array> }> = []
  const progress = { blocks: 0, bytes: 0 }
  for (;;) {
    while (reads.length < AHEAD) {
      const cid = frontier.pop()
      if (cid === undefined) break
      const bytes = readFrom(source, cid, signal)
      // Whoever comes to it is told.
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

/** A source of the DAG that begins with a block of ours, which links to one that `below` has. */
export function sourceWith({ cid, bytes }: { cid: CID; bytes: Uint8Array }, below: BlockSource): BlockSource {
  return { read: async (wanted, options) => (wanted.equals(cid) ? bytes : below.read(wanted, options)) }
}

async function readFrom(source: BlockSource, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
  if (cid.multihash.code === HASH.identity) return cid.multihash.digest
  try {
    return await source.read(cid, { signal })
  } catch (error) {
    if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    throw new HoldfastError('CID_NOT_FOUND', `not all is here: ${error.message}`, { cause: error })
  }
}
