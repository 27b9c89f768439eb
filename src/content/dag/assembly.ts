import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { checkNew, dagKey, HASH } from '../../ipld/cid.ts'
import type { BlockSource } from '../block-source.ts'
import { hasLinks } from './links.ts'
import type { StagedDag } from './staged-dag.ts'
import { walkDag } from './walk.ts'

/** Blocks read, copied or claimed concurrently. */
const WALK_AT_ONCE = 16
/** Error codes of a block that is no longer available. */
const GONE = new Set<string>(['CID_NOT_FOUND', 'NOT_FOUND', 'BLOCK_DAMAGED'])

/** A holder of a usable block, which keeps the block until it is claimed. */
export interface BlockHolder {
  backendId: number
  /** True if a block store of this node has the block. If false, blocks below it come from the same holder. */
  isLocal: boolean
  /** Source that checks its blocks. */
  source: BlockSource
}

export interface AssemblyParts {
  /** Staged DAG that receives exactly these blocks. */
  into: StagedDag
  /** Returns null if nothing has the block. */
  holderOf: (cid: CID) => BlockHolder | null
  /** Called for each distinct missing block; may throw to end the assembly. */
  onMissing: (cid: CID) => void
  /** Limit of distinct blocks, missing ones included. */
  maxBlocks: number
  /** Limit of levels. */
  maxDepth: number
  signal?: AbortSignal | undefined
}

/**
 * Stages a DAG from held blocks: claims those on the same backend, copies the others, and checks each hash.
 *
 * @throws HoldfastError `INVALID_CID` if a block cannot be walked, does not match its codec, or has a long identity
 * CID; `VALIDATION` if the DAG is too deep, or has too many blocks.
 */
export async function assembleDag(root: CID, { into, holderOf, onMissing, ...bounds }: AssemblyParts): Promise<void> {
  /** Holders of blocks with links on other backends, of which only the root is known. */
  const remoteHolders = new Map<string, BlockHolder>()
  const visit = async (cid: CID, parent: CID | null): Promise<Uint8Array | null> => {
    checkNew(cid)
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const holder = holderOf(cid) ?? (parent === null ? null : (remoteHolders.get(dagKey(parent)) ?? null))
    const taken = holder === null ? null : await take(holder, into, cid, bounds.signal)
    if (holder?.isLocal === false && hasLinks(cid)) remoteHolders.set(dagKey(cid), holder)
    if (taken === null) onMissing(cid)
    return taken?.bytes ?? null
  }
  await walkDag(root, visit, { concurrency: WALK_AT_ONCE, ...bounds })
  await into.settle()
}

/** Takes a block. Returns its bytes if it has links; null if it is gone or damaged. */
async function take(
  { backendId, isLocal, source }: BlockHolder,
  into: StagedDag,
  cid: CID,
  signal: AbortSignal | undefined,
): Promise<{ bytes: Uint8Array | null } | null> {
  try {
    if (isLocal && backendId === into.store.backendId) {
      await into.adopt(cid)
      return { bytes: hasLinks(cid) ? await source.read(cid, { signal }) : null }
    }
    const bytes = await source.read(cid, { signal })
    await into.put(cid, bytes)
    return { bytes }
  } catch (error) {
    if (isHoldfastError(error) && GONE.has(error.code)) return null
    throw error
  }
}
