import type { CID } from 'multiformats/cid'
import type { ClusterRegistry } from '../../src/clusters/cluster-registry.ts'
import type { LiveContent } from '../../src/content/live-content.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import { parseCid } from '../../src/ipld/cid.ts'

/** Path prefix of the requests by which nodes read each other's blocks. Requests from other clients are refused. */
export const NODE_BLOCKS_PATH = '/fleet/v1/blocks/'

/** Query string that marks a block which was requested by its own CID, with the number of an account that reads it. */
export const OPENED = 'opened'
const OPENED_BY = /^opened(?:=(\d{1,16}))?$/

/**
 * Query string of a block below a CID that is no root of this codec, with the number of the account that reads. The bytes
 * of such a block may name blocks of others.
 */
export const BELOW = 'below'
const READ_BELOW = /^below=([a-z2-7]+)&by=(\d{1,16})$/

/** Status for a block that is missing from the disk or fails its hash. The other node tells it from a failure. */
export const DAMAGED = 422

/** Response header of an opened block: when its last record expires, in ms since the epoch. Absent for never. */
export const LIVE_UNTIL_HEADER = 'holdfast-live-until'

/**
 * Answers requests of other nodes for a block. Without a query, serves any block: the requesting node knows a live root
 * that needs the block, and verifies the block. With the query {@link OPENED}, serves only blocks of this node's live
 * roots, public or of the account. With {@link BELOW}, serves only blocks that these roots need.
 */
export function nodeBlocks(
  clusters: Pick<ClusterRegistry, 'backends' | 'readerOf' | 'absent'>,
  live: Pick<LiveContent, 'lease' | 'isBelow'>,
): ApiHandler {
  return async ({ path, query, signal }) => {
    try {
      const cid = parseCid(path.slice(NODE_BLOCKS_PATH.length))
      const [, upper, by] = READ_BELOW.exec(query) ?? []
      if (upper !== undefined && !live.isBelow(parseCid(upper), cid, Number(by))) throw absent(cid)
      const [opened, owner] = OPENED_BY.exec(query) ?? []
      const reader = owner === undefined ? undefined : Number(owner)
      const served = opened === undefined ? readBlock(clusters, cid, signal) : openBlock(live, cid, signal, reader)
      const { bytes, liveUntil } = await served
      const headers = {
        'content-type': 'application/vnd.ipld.raw',
        'content-length': String(bytes.length),
        ...(liveUntil !== null && { [LIVE_UNTIL_HEADER]: String(liveUntil) }),
      }
      return { status: 200, headers, body: bytes }
    } catch (error) {
      if (isHoldfastError(error, 'BLOCK_DAMAGED')) return { status: DAMAGED, headers: {}, body: null }
      return errorResponse(error, '')
    }
  }
}

interface ServedBlock {
  bytes: Uint8Array
  liveUntil: number | null
}

async function openBlock(
  live: Pick<LiveContent, 'lease'>,
  cid: CID,
  signal: AbortSignal,
  owner?: number,
): Promise<ServedBlock> {
  const leased = live.lease(cid, owner)
  if (leased === null) throw absent(cid)
  try {
    return { bytes: await leased.source.read(cid, { signal }), liveUntil: leased.liveUntil }
  } finally {
    leased.release()
  }
}

async function readBlock(
  clusters: Pick<ClusterRegistry, 'backends' | 'readerOf' | 'absent'>,
  cid: CID,
  signal: AbortSignal,
): Promise<ServedBlock> {
  for (const { id } of clusters.backends) {
    try {
      const bytes = await clusters.readerOf(id)?.read(cid, { signal })
      if (bytes !== undefined) return { bytes, liveUntil: null }
    } catch (error) {
      if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    }
  }
  if (clusters.absent.length > 0) throw new HoldfastError('UNAVAILABLE', `block ${cid} may be in an absent cluster`)
  throw absent(cid)
}

function absent(cid: CID): HoldfastError {
  return new HoldfastError('CID_NOT_FOUND', `block ${cid} is not on this node`)
}
