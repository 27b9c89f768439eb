import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { checkNew, HASH } from '../../ipld/cid.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import { forgetLone, freeLone } from '../../network/lone-blocks.ts'
import { BlockMemory } from '../block-memory.ts'
import { hasLinks } from './links.ts'
import { chargeOf, type StagedDag } from './staged-dag.ts'
import { type Visit, walkDag } from './walk.ts'

/** How far a fetch may go before it is given up. */
export interface FetchBounds {
  maxBlocks: number
  maxDepth: number
  /** Blocks of one DAG on their way at a time. */
  concurrency: number
}

export interface FetchTotals {
  /** Those that are their own CID are not counted. */
  blocks: number
  /** Bytes of the distinct blocks. */
  bytes: number
  /** What they count against a quota, in bytes. */
  charge: number
}

/** One block, however many fetches want it, is asked for once at a time. */
export class SharedBlocks {
  readonly #coming = new Map<string, { block: Promise<Uint8Array>; isShared: boolean }>()

  async get(session: FetchSession, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
    const key = cid.toString()
    for (let other = this.#coming.get(key); other !== undefined; other = this.#coming.get(key)) {
      try {
        other.isShared = true
        return kept(await orAborted(other.block, signal))
      } catch {
        // Whoever asked first may have been aborted, or have had worse sources.
        signal.throwIfAborted()
      }
    }
    const coming = { block: session.get(cid, { signal }), isShared: false }
    this.#coming.set(key, coming)
    try {
      const block = await coming.block
      return coming.isShared ? kept(block) : block
    } finally {
      if (this.#coming.get(key) === coming) this.#coming.delete(key)
    }
  }
}

function kept(block: Uint8Array): Uint8Array {
  forgetLone(block)
  return block
}

/**
 * Brings a whole DAG into a staging root: blocks that are here are only claimed, the rest comes from the session.
 * Resumes by itself, because what an earlier attempt brought is here.
 *
 * @param parts.sizeOf where the session reads from the cluster that keeps the DAG: bytes of a block there. Blocks without
 * links are then noted, and stay there
 * @param onProgress called after each distinct block; may throw to end the fetch
 * @throws HoldfastError `CID_NOT_FOUND`, `INVALID_CID`, `VALIDATION` for a bound; what `signal` was aborted with.
 */
export async function fetchDag(
  root: CID,
  parts: {
    staged: StagedDag
    session: FetchSession
    shared: SharedBlocks
    bounds: FetchBounds
    signal: AbortSignal
    onProgress: (totals: FetchTotals) => void
    sizeOf?: ((cid: CID, signal: AbortSignal) => Promise<number>) | undefined
  },
): Promise<FetchTotals> {
  const { staged, session, shared, bounds, onProgress, sizeOf } = parts
  const totals: FetchTotals = { blocks: 0, bytes: 0, charge: 0 }
  const memory = new BlockMemory(parts.signal)

  const bring = async (cid: CID, signal: AbortSignal): Promise<{ bytes: Uint8Array | null; size: number }> => {
    checkNew(cid)
    if (cid.multihash.code === HASH.identity) return { bytes: cid.multihash.digest, size: 0 }
    if (sizeOf !== undefined && !hasLinks(cid)) {
      const size = await staged.note(cid, staged.store.sizeOf(cid) ?? (await sizeOf(cid, signal)))
      if (size !== null) return { bytes: null, size }
    }
    const here = await takeLocal(staged, cid)
    if (here !== null) return here
    const bytes = await shared.get(session, cid, signal)
    const settled = await memory.settle(bytes)
    const { length: size } = bytes
    const isLeaf = !hasLinks(cid)
    // From here on its copy is what counts.
    if (isLeaf && settled !== bytes) freeLone(bytes)
    await staged.put(cid, settled, () => memory.release(settled))
    return { bytes: isLeaf ? null : bytes, size }
  }
  const visit: Visit = async (cid, _, signal) => {
    const { bytes, size } = await bring(cid, signal)
    if (cid.multihash.code !== HASH.identity) {
      totals.blocks++
      totals.bytes += size
      totals.charge += chargeOf(size)
    }
    onProgress({ ...totals })
    return bytes
  }

  await walkDag(root, visit, { ...bounds, signal: parts.signal })
  return totals
}

/** Claims a block that is here; null if it is not, or not as it should be. */
async function takeLocal(staged: StagedDag, cid: CID): Promise<{ bytes: Uint8Array | null; size: number } | null> {
  const size = staged.store.sizeOf(cid)
  if (size === null) return null
  try {
    await staged.adopt(cid)
    return { bytes: hasLinks(cid) ? await staged.store.get(cid, { verify: true }) : null, size }
  } catch (error) {
    if (isHoldfastError(error, 'CID_NOT_FOUND') || isHoldfastError(error, 'BLOCK_DAMAGED')) return null
    throw error
  }
}
