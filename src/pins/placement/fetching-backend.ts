import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../clusters/cluster-backend.ts'
import type { BlockSource } from '../../content/block-source.ts'
import { hasLinks } from '../../content/dag/links.ts'
import { ADMITTED, walkDag } from '../../content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'

const CHECKED_AT_ONCE = 16

export interface FetchingBackend {
  backend: ClusterBackend & Required<Pick<ClusterBackend, 'sizeOf'>>
  /** Reads blocks from the backend and checks their hashes. */
  reader: BlockSource
}

/**
 * Checks that a backend has all blocks of a DAG. The backend may have lost blocks after it reported `pinned`. Reads the
 * blocks with links. For other blocks, requests only the size.
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
      // If the source is unreachable, its blocks count as missing.
      this.hasMissed ||= isHoldfastError(error, 'NOT_FOUND') || isHoldfastError(error, 'UNAVAILABLE')
      throw error
    }
  }
}
