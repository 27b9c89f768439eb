import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { checkNew, dagKey, HASH } from '../../ipld/cid.ts'
import type { PossessedBlocks } from '../taken-source.ts'
import { hasLinks } from './links.ts'
import type { StagedDag } from './staged-dag.ts'
import { walkDag } from './walk.ts'

const WALK_AT_ONCE = 16
const GONE = new Set<string>(['CID_NOT_FOUND', 'NOT_FOUND', 'BLOCK_DAMAGED'])

export interface AssemblyParts {
  /** Receives the blocks of the assembled DAG, and no others. */
  into: StagedDag
  /** Returns blocks that have the CID, at least until the assembly has claimed it. */
  holderOf: (cid: CID) => PossessedBlocks | null
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
  const remoteHolders = new Map<string, PossessedBlocks>()
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
  holder: PossessedBlocks,
  into: StagedDag,
  cid: CID,
  signal: AbortSignal | undefined,
): Promise<{ bytes: Uint8Array | null } | null> {
  try {
    if (holder.isLocal && holder.backendId === into.store.backendId) {
      await into.adopt(cid, holder.by)
      return { bytes: hasLinks(cid) ? await holder.read(cid, { signal }) : null }
    }
    const bytes = await holder.read(cid, { signal })
    await into.put(cid, bytes)
    return { bytes }
  } catch (error) {
    if (isHoldfastError(error) && GONE.has(error.code)) return null
    throw error
  }
}
