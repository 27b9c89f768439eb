import { CID } from 'multiformats/cid'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { errorResponse } from '../http/error-response.ts'
import type { ApiHandler } from '../http/types.ts'

/** Where nodes of a fleet read each other's blocks. Nobody else is answered there. */
export const NODE_BLOCKS_PATH = '/fleet/v1/blocks/'

/**
 * Gives other nodes the blocks that this one has, whoever needs them: who asks has found out that somebody does, and checks
 * them.
 */
export function nodeBlocks(clusters: Pick<ClusterRegistry, 'backends' | 'readerOf'>): ApiHandler {
  return async ({ path, signal }) => {
    try {
      const bytes = await readBlock(clusters, CID.parse(path.slice(NODE_BLOCKS_PATH.length)), signal)
      const headers = { 'content-type': 'application/vnd.ipld.raw', 'content-length': String(bytes.length) }
      return { status: 200, headers, body: bytes }
    } catch (error) {
      return errorResponse(error, '')
    }
  }
}

async function readBlock(
  clusters: Pick<ClusterRegistry, 'backends' | 'readerOf'>,
  cid: CID,
  signal: AbortSignal,
): Promise<Uint8Array> {
  for (const { id } of clusters.backends) {
    try {
      const bytes = await clusters.readerOf(id)?.read(cid, { signal })
      if (bytes !== undefined) return bytes
    } catch (error) {
      if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    }
  }
  throw new HoldfastError('CID_NOT_FOUND', `block ${cid} is not here`)
}
