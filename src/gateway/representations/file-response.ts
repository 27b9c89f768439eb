import type { CID } from 'multiformats/cid'
import type { FileNode } from '../../content/unixfs/node.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { HASH } from '../../ipld/cid.ts'
import { dispositionHeader } from '../http/disposition.ts'
import { isActive } from './active-type.ts'
import { bytesResponse } from './bytes-response.ts'
import { headerName, listingHeaders } from './content-headers.ts'
import { type FileType, typeOfFile } from './content-type.ts'
import type { Lookup } from './lookup.ts'

/**
 * Gives a page an opaque origin, without access to the gateway's tokens, storage and service workers. Scripts, forms,
 * popups, downloads and dialogs still work.
 */
const SANDBOX = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals',
} as const

/** Increment the version after a change of the types told by bytes, so browsers do not keep an earlier type. */
const TYPE_VERSION = 2

/**
 * Returns a file for display in a browser.
 *
 * @param name name of the file at the end of the path; empty if unknown
 * @param cid CID of the file; for an index page, the CID of its directory
 */
export async function fileResponse(lookup: Lookup, file: FileNode, name: string, cid: CID): Promise<ApiResponse> {
  const { blocks, query, hasOwnOrigin } = lookup
  // Anyone can create an identity CID that contains a page. The gateway serves the page although nobody has pinned it.
  const isUnpinned = blocks.root.multihash.code === HASH.identity
  const told = await typeOfFile(blocks, file, query.get('filename') || name)
  const type = isUnpinned ? withoutPages(told) : told
  const isAsBefore = type.value === type.before
  const etag = `"${headerName(cid)}${isAsBefore ? '' : `.v${TYPE_VERSION}`}"`
  return bytesResponse(lookup, {
    file,
    etag,
    contentType: type.value,
    headers: {
      ...(!isAsBefore && listingHeaders(lookup, etag)),
      ...dispositionHeader(query, { kind: null, name }),
      ...(isActive(type.value) && (isUnpinned || !hasOwnOrigin) && SANDBOX),
      ...(isUnpinned && { 'cache-control': 'no-cache' }),
    },
  })
}

/** Nobody has stored the content of a requested identity CID, so its bytes alone never make it a page. */
function withoutPages(type: FileType): FileType {
  return type.isOfName || !isActive(type.value) ? type : { ...type, value: type.before }
}
