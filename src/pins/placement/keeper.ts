import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../clusters/cluster-backend.ts'
import type { BlockSource } from '../../content/block-source.ts'
import { hasLinks } from '../../content/dag/links.ts'
import { ADMITTED, walkDag } from '../../content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'

/** Blocks that are looked at there at a time. */
const LOOKED_AT_ONCE = 16

/** Who keeps a cluster elsewhere, and fetches by itself what it is to keep. */
export interface Keeper {
  backend: ClusterBackend & Required<Pick<ClusterBackend, 'sizeOf'>>
  /** Reads there, each block checked. */
  reader: BlockSource
}

/**
 * Looks whether all of a DAG can be had from a keeper: its word for `pinned` says nothing of what it has lost since.
 * What has links is read, of the rest only the size is asked for.
 *
 * @throws HoldfastError `UNAVAILABLE` if it cannot, and what the signal is aborted with
 */
export async function checkWhole(
  { backend, reader }: Keeper,
  root: CID,
  { signal, onMoved }: { signal: AbortSignal; onMoved: () => void },
): Promise<void> {
  const look = async (cid: CID, _parent: CID | null, ended: AbortSignal): Promise<Uint8Array | null> => {
    if (cid.multihash.code === HASH.identity) return hasLinks(cid) ? cid.multihash.digest : null
    const bytes = hasLinks(cid) ? await reader.read(cid, { signal: ended }) : null
    if (bytes === null) await backend.sizeOf(cid, ended)
    onMoved()
    return bytes
  }
  try {
    await walkDag(root, look, { concurrency: LOOKED_AT_ONCE, maxBlocks: ADMITTED, signal })
  } catch (error) {
    if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    throw new HoldfastError('UNAVAILABLE', `the cluster cannot give all of it: ${error.message}`, { cause: error })
  }
}

/** A source that notes whether it was asked for something that it has not got. */
export class NotedSource implements BlockSource {
  readonly #source: BlockSource
  isLacking = false

  constructor(source: BlockSource) {
    this.#source = source
  }

  /** @throws what the source throws */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    try {
      return await this.#source.read(cid, options)
    } catch (error) {
      // What a cluster does not give just now is not here either.
      this.isLacking ||= isHoldfastError(error, 'NOT_FOUND') || isHoldfastError(error, 'UNAVAILABLE')
      throw error
    }
  }
}
