import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../clusters/cluster-backend.ts'
import type { BlockSource } from '../../content/block-source.ts'
import { hasLinks } from '../../content/dag/links.ts'
import { ADMITTED, walkDag } from '../../content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'

/** Maximum number of blocks checked at the same time. */
const CHECKED_AT_ONCE = 16

/** External backend that can fetch missing content by itself. */
export interface FetchingBackend {
  backend: ClusterBackend & Required<Pick<ClusterBackend, 'sizeOf'>>
  /** Reads blocks from the backend and checks their hashes. */
  reader: BlockSource
}

/**
 * Checks that a backend has all blocks of a DAG. The status `pinned` does not prove this, because the backend may have
 * lost blocks after the pin. The check reads blocks with links. For other blocks it only requests the size.
 *
 * @throws HoldfastError `UNAVAILABLE` if a block is missing; the abort reason of the signal
 */
export async function checkWhole(
  { backend, reader }: FetchingBackend,
  root: CID,
  { signal, onMoved }: { signal: AbortSignal; onMoved: () => void },
): Promise<void> {
  const visit = async (cid: CID, _parent: CID | null, ended: AbortSignal): Promise<Uint8Array | null> => {
    if (cid.multihash.code === HASH.identity) return hasLinks(cid) ? cid.multihash.digest : null
    const bytes = hasLinks(cid) ? await reader.read(cid, { signal: ended }) : null
    if (bytes === null) await backend.sizeOf(cid, ended)
    onMoved()
    return bytes
  }
  try {
    await walkDag(root, visit, { concurrency: CHECKED_AT_ONCE, maxBlocks: ADMITTED, signal })
  } catch (error) {
    if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    throw new HoldfastError('UNAVAILABLE', `the cluster lacks a part of the content: ${error.message}`, {
      cause: error,
    })
  }
}

/** Block source that records whether a read has failed because the block was missing. */
export class MissTracker implements BlockSource {
  readonly #source: BlockSource
  hasMissed = false

  constructor(source: BlockSource) {
    this.#source = source
  }

  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    try {
      return await this.#source.read(cid, options)
    } catch (error) {
      // A source on another system may be unreachable. In this case its blocks count as missing.
      this.hasMissed ||= isHoldfastError(error, 'NOT_FOUND') || isHoldfastError(error, 'UNAVAILABLE')
      throw error
    }
  }
}
