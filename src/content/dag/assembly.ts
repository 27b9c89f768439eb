import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { checkNew, dagKey, HASH } from '../../ipld/cid.ts'
import type { BlockSource } from '../block-source.ts'
import { hasLinks } from './links.ts'
import type { StagedDag } from './staged-dag.ts'
import { walkDag } from './walk.ts'

const WALK_AT_ONCE = 16
const GONE = new Set<string>(['CID_NOT_FOUND', 'NOT_FOUND', 'BLOCK_DAMAGED'])

/** Provider of a block, at least until the assembly has claimed the block. */
export interface BlockHolder {
  backendId: number
  /** True if a block store of this node has the block. If false, the holder also provides the blocks below. */
  isLocal: boolean
  source: BlockSource
}

export interface AssemblyParts {
  /** Receives the blocks of the assembled DAG, and no others. */
  into: StagedDag
  holderOf: (cid: CID) => BlockHolder | null
  /** Called once for each missing block. May throw to end the assembly. */
  onMissing: (cid: CID) => void
  /** Maximum number of distinct blocks, including missing ones. */
  maxBlocks: number
  maxDepth: number
  signal?: AbortSignal | undefined
}

/**
 * Stages a DAG from blocks that this node or its backends store. Claims blocks on the same backend. Copies the others
 * and checks their hashes.
 *
 * @throws HoldfastError `INVALID_CID` for an invalid block or an identity CID that is too long; `VALIDATION` if the DAG
 * has too many levels or blocks
 */
export async function assembleDag(root: CID, { into, holderOf, onMissing, ...bounds }: AssemblyParts): Promise<void> {
  /**
   * Holders on other backends, by the key of the block they provided. The ledger knows only the root on such a backend,
   * so a block's children come from the same holder.
   */
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

/** Claims or copies a block. Returns null if the block is missing or damaged, and the bytes if it has links. */
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
