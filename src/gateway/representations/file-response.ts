import type { CID } from 'multiformats/cid'
import type { FileNode } from '../../content/unixfs/node.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { HASH } from '../../ipld/cid.ts'
import { dispositionHeader } from '../http/disposition.ts'
import type { RequestBlocks } from '../source/request-blocks.ts'
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
  const isUnpinned = isIdentity(blocks.root)
  const type = await servedType(blocks, file, query.get('filename') || name)
  const isAsBefore = type.value === type.before
  const lastModified = modificationOf(lookup, file)
  const etag = `"${headerName(cid)}${isAsBefore ? '' : `.v${TYPE_VERSION}`}"`
  return bytesResponse(lookup, {
    file,
    etag,
    lastModified,
    contentType: type.value,
    headers: {
      ...(!isAsBefore && listingHeaders(lookup, etag)),
      ...dispositionHeader(query, { kind: null, name }),
      ...(lastModified !== null && { 'last-modified': new Date(lastModified).toUTCString() }),
      ...(isActive(type.value) && (isUnpinned || !hasOwnOrigin) && SANDBOX),
      ...(isUnpinned && { 'cache-control': 'no-cache' }),
    },
  })
}

/**
 * Returns the type of a file below a requested root. Anyone can create an identity CID that contains a page, and nobody
 * has stored it. So its bytes alone never make it a page.
 *
 * @throws HoldfastError of a failed read
 */
export async function servedType(blocks: RequestBlocks, file: FileNode, name: string): Promise<FileType> {
  const type = await typeOfFile(blocks, file, name)
  const isPage = !type.isOfName && isActive(type.value)
  return isPage && isIdentity(blocks.root) ? { ...type, value: type.before } : type
}

/**
 * Returns the stored time of a file below `/ipfs/<cid>`, in ms since the epoch. Ignores a time in the future, which
 * HTTP forbids (RFC 9110, section 8.8.2.1).
 */
function modificationOf({ path, now }: Lookup, { mtime }: FileNode): number | null {
  return mtime === undefined || path.isIsolated || mtime > now ? null : mtime
}

function isIdentity(cid: CID): boolean {
  return cid.multihash.code === HASH.identity
}
