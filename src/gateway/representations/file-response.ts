import type { CID } from 'multiformats/cid'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import { streamFile } from '../../content/unixfs/file-stream.ts'
import type { FileNode } from '../../content/unixfs/node.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { HASH } from '../../ipld/cid.ts'
import { dispositionHeader } from '../http/disposition.ts'
import { bytesResponse } from './bytes-response.ts'
import { headerName } from './content-headers.ts'
import { isActive, SNIFFED_BYTES, typeOfBytes, typeOfName } from './content-type.ts'
import type { Lookup } from './lookup.ts'

/**
 * Gives a page an opaque origin, without access to the gateway's tokens, storage and service workers. Scripts, forms,
 * popups, downloads and dialogs still work.
 */
const SANDBOX = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals',
} as const

/**
 * Returns a file for display in a browser.
 *
 * @param name name of the file at the end of the path; empty if unknown
 * @param cid CID of the file; for an index page, the CID of its directory
 */
export function fileResponse(lookup: Lookup, file: FileNode, name: string, cid: CID): Promise<ApiResponse> {
  const type = typeOfName(lookup.query.get('filename') || name)
  // Anyone can create an identity CID that contains a page. The gateway serves the page although nobody has pinned it.
  const isUnpinned = lookup.blocks.root.multihash.code === HASH.identity
  const policyOf = (known: string): Readonly<Record<string, string>> =>
    isActive(known) && (isUnpinned || !lookup.hasOwnOrigin) ? SANDBOX : {}
  return bytesResponse(lookup, {
    file,
    etag: `"${headerName(cid)}"`,
    contentType: () => type ?? sniff(lookup.blocks, file),
    headers: {
      ...dispositionHeader(lookup.query, { kind: null, name }),
      ...(type !== null && policyOf(type)),
      ...(isUnpinned && { 'cache-control': 'no-cache' }),
    },
    headersOfType: policyOf,
  })
}

export async function sniff(blocks: BlockReader, file: FileNode): Promise<string> {
  const range = { start: 0, end: Math.min(SNIFFED_BYTES, file.size) }
  const chunks: Uint8Array[] = []
  for await (const chunk of streamFile(blocks, file, range)) chunks.push(chunk)
  return typeOfBytes(Buffer.concat(chunks))
}
