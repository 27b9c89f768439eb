import type { CID } from 'multiformats/cid'
import { checkWalkable, HASH } from '../domain/cid.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { BlockStore } from './block-store.ts'
import { hasLinks, walkDag } from './dag-walk.ts'
import type { StagedDag } from './staged-dag.ts'

/** Blocks read, copied or claimed at a time. */
const WALK_AT_ONCE = 16
/** What tells that a block cannot be had after all. */
const GONE = new Set<string>(['CID_NOT_FOUND', 'NOT_FOUND', 'BLOCK_DAMAGED'])

export interface AssemblyParts {
  /** Where the DAG comes together: it will need these blocks and no others. */
  into: StagedDag
  /** The store that has a block which may be used, and that holds it until it is claimed; null if none has. */
  holderOf: (cid: CID) => BlockStore | null
  /** Called for each distinct block that is not to be had; may throw to end it. */
  onMissing: (cid: CID) => void
  /** Levels below which nothing may be. */
  maxDepth: number
  signal?: AbortSignal | undefined
}

/**
 * Stages a DAG from blocks that are on this node: claimed where they are on the same backend, else copied, each
 * checked by its hash.
 *
 * @throws HoldfastError `INVALID_CID` if it has a block that cannot be walked, or is not what its codec says;
 * `VALIDATION` if it is too deep.
 */
export async function assembleDag(
  root: CID,
  { into, holderOf, onMissing, maxDepth, signal }: AssemblyParts,
): Promise<void> {
  const visit = async (cid: CID): Promise<Uint8Array | null> => {
    checkWalkable(cid)
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const holder = holderOf(cid)
    const taken = holder === null ? null : await take(holder, into, cid)
    if (taken === null) onMissing(cid)
    return taken?.bytes ?? null
  }
  await walkDag(root, visit, { concurrency: WALK_AT_ONCE, maxDepth, signal })
  await into.settle()
}

/** With the bytes of what has links. Null if the block is gone or damaged, which for its use is the same. */
async function take(holder: BlockStore, into: StagedDag, cid: CID): Promise<{ bytes: Uint8Array | null } | null> {
  try {
    if (holder.backendId === into.store.backendId) {
      await into.adopt(cid)
      return { bytes: hasLinks(cid) ? await holder.get(cid, { verify: true }) : null }
    }
    const bytes = await holder.get(cid, { verify: true })
    await into.put(cid, bytes)
    return { bytes }
  } catch (error) {
    if (isHoldfastError(error) && GONE.has(error.code)) return null
    throw error
  }
}
