import type { CID } from 'multiformats/cid'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from './request-blocks.ts'
import type { RootOpener } from './root-opener.ts'

/** Headers of a response to an account that reads its own content. No cache may keep it. */
export const OWN_HEADERS = { 'cache-control': 'no-store', vary: 'Authorization, X-API-Key' }

/**
 * Returns the number of the account that a request's credential names, if the credential may read private content and
 * the account has it. Returns null for any other request. Throws HoldfastError `UNAVAILABLE` without the
 * catalogue.
 */
export type OwnerOf = (request: ApiRequest, cid: CID) => Promise<number | null>

export interface Opened {
  blocks: RequestBlocks
  /** True if the response is for one account only. */
  isOwn: boolean
}

/** Opens content for the account that a credential names, and public content for everybody else. */
export async function openFor(
  ownerOf: OwnerOf,
  opener: RootOpener,
  request: ApiRequest,
  path: ContentPath,
): Promise<Opened> {
  const owner = await ownerOf(request, path.cid).catch(unlessUnavailable)
  if (typeof owner === 'number') return { blocks: await opener.openPinned(path, owner, request.signal), isOwn: true }
  try {
    return { blocks: await opener.open(request, path), isOwn: false }
  } catch (error) {
    // Without the catalogue, nobody knows whether the account may read the content.
    throw owner instanceof HoldfastError && isHoldfastError(error, 'CID_NOT_FOUND') ? owner : error
  }
}

function unlessUnavailable(error: unknown): HoldfastError {
  if (isHoldfastError(error, 'UNAVAILABLE')) return error
  throw error
}
