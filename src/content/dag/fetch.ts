import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { checkNew, HASH } from '../../ipld/cid.ts'
import type { Possessor } from '../../ledger/possessor.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import { forgetLone, freeLone } from '../../network/lone-blocks.ts'
import { BlockMemory } from '../block-memory.ts'
import { chargeOf } from '../block-store.ts'
import { hasLinks } from './links.ts'
import type { StagedDag } from './staged-dag.ts'
import { type Visit, walkDag } from './walk.ts'

export interface FetchBounds {
  maxBlocks: number
  maxDepth: number
  concurrency: number
}

export interface FetchTotals {
  /** Number of distinct blocks, without identity CIDs. */
  blocks: number
  bytes: number
  /** Size in bytes that the DAG counts against a quota. */
  charge: number
}

/**
 * Sends one request for concurrent fetches of the same block. Only fetches of one owner share it, because a private
 * fetch may get the block from a source that nobody else knows.
 */
export class SharedBlocks {
  readonly #coming = new Map<string, { block: Promise<Uint8Array>; isShared: boolean }>()

  async get(session: FetchSession, cid: CID, owner: number, signal: AbortSignal): Promise<Uint8Array> {
    const key = `${owner} ${cid}`
    for (let other = this.#coming.get(key); other !== undefined; other = this.#coming.get(key)) {
      try {
        other.isShared = true
        return kept(await orAborted(other.block, signal))
      } catch {
        // The first request may have been aborted, or its sources may have lacked the block. Send a new request.
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
 * Fetches a whole DAG into a staged root. A repeated fetch resumes, because the blocks of an earlier attempt are local.
 *
 * @param parts.sizeOf returns the size in bytes of a block on the external cluster that stores the DAG. If given,
 * blocks without links are recorded but not fetched
 * @param onProgress called after each distinct block; it can throw to end the fetch
 * @throws HoldfastError `CID_NOT_FOUND`, `INVALID_CID`; `VALIDATION` if the DAG exceeds a limit; the reason of `signal`
 */
export async function fetchDag(
  root: CID,
  parts: {
    staged: StagedDag
    /** The party of the fetch, whose stored blocks need no request. */
    by: Possessor
    /** Owner of the root to come. A private fetch may be for a party without private blocks of its own. */
    owner: number
    session: FetchSession
    shared: SharedBlocks
    bounds: FetchBounds
    signal: AbortSignal
    onProgress: (totals: FetchTotals) => void
    sizeOf?: ((cid: CID, signal: AbortSignal) => Promise<number>) | undefined
  },
): Promise<FetchTotals> {
  const { staged, by, owner, session, shared, bounds, onProgress, sizeOf } = parts
  const totals: FetchTotals = { blocks: 0, bytes: 0, charge: 0 }
  const memory = new BlockMemory(parts.signal)

  const bring = async (cid: CID, signal: AbortSignal): Promise<{ bytes: Uint8Array | null; size: number }> => {
    checkNew(cid)
    if (cid.multihash.code === HASH.identity) return { bytes: cid.multihash.digest, size: 0 }
    if (sizeOf !== undefined && !hasLinks(cid)) {
      const size = await staged.note(cid, staged.store.sizeOf(cid) ?? (await sizeOf(cid, signal)), by)
      if (size !== null) return { bytes: null, size }
    }
    const here = await takeLocal(staged, cid, by)
    if (here !== null) return here
    const bytes = await shared.get(session, cid, owner, signal)
    const settled = await memory.settle(bytes)
    const { length: size } = bytes
    const isLeaf = !hasLinks(cid)
    // The block has been copied to `settled`, so the memory of the fetched bytes can be freed.
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

/** Claims a local block. Returns null if the block is missing, damaged, or only in roots that the party may not use. */
async function takeLocal(
  staged: StagedDag,
  cid: CID,
  by: Possessor,
): Promise<{ bytes: Uint8Array | null; size: number } | null> {
  const size = staged.store.sizeOf(cid)
  if (size === null) return null
  try {
    await staged.adopt(cid, by)
    return { bytes: hasLinks(cid) ? await staged.get(cid, { verify: true }) : null, size }
  } catch (error) {
    if (isHoldfastError(error, 'CID_NOT_FOUND') || isHoldfastError(error, 'BLOCK_DAMAGED')) return null
    throw error
  }
}
