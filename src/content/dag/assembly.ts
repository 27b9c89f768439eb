import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { checkNew, dagKey, HASH } from '../../ipld/cid.ts'
import type { BlockSource } from '../block-source.ts'
import { hasLinks } from './links.ts'
import type { StagedDag } from './staged-dag.ts'
import { walkDag } from './walk.ts'

/** Blocks read, copied or claimed at a time. */
const WALK_AT_ONCE = 16
/** What tells that a block cannot be had after all. */
const GONE = new Set<string>(['CID_NOT_FOUND', 'NOT_FOUND', 'BLOCK_DAMAGED'])

/** What has a block that may be used, and holds it until it is claimed. */
export interface BlockHolder {
  backendId: number
  /** Whether the block is in a block store of this node. If not, what is below it is to be had from here, too. */
  isLocal: boolean
  /** Its blocks are checked. */
  source: BlockSource
}

export interface AssemblyParts {
  /** Where the DAG comes together: it will need these blocks and no others. */
  into: StagedDag
  /** Null if nothing has the block. */
  holderOf: (cid: CID) => BlockHolder | null
  /** Called for each distinct block that is not to be had; may throw to end it. */
  onMissing: (cid: CID) => void
  /** Distinct blocks that the DAG may have, those that are missing included. */
  maxBlocks: number
  /** Levels below which nothing may be. */
  maxDepth: number
  signal?: AbortSignal | undefined
}

/**
 * Stages a DAG from blocks that are held: claimed where they are on the same backend, else copied, each checked by its
 * hash.
 *
 * @throws HoldfastError `INVALID_CID` if it has a block that cannot be walked, is not what its codec says, or is a
 * long identity CID;
 * `VALIDATION` if it is too deep, or has too many blocks.
 */
export async function assembleDag(root: CID, { into, holderOf, onMissing, ...bounds }: AssemblyParts): Promise<void> {
  /** Blocks with links that came from elsewhere, where only roots are known. */
  const elsewhere = new Map<string, BlockHolder>()
  const visit = async (cid: CID, parent: CID | null): Promise<Uint8Array | null> => {
    checkNew(cid)
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const holder = holderOf(cid) ?? (parent === null ? null : (elsewhere.get(dagKey(parent)) ?? null))
    const taken = holder === null ? null : await take(holder, into, cid, bounds.signal)
    if (holder?.isLocal === false && hasLinks(cid)) elsewhere.set(dagKey(cid), holder)
    if (taken === null) onMissing(cid)
    return taken?.bytes ?? null
  }
  await walkDag(root, visit, { concurrency: WALK_AT_ONCE, ...bounds })
  await into.settle()
}

/** With the bytes of what has links. Null if the block is gone or damaged, which for its use is the same. */
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
