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
 * Makes a page an origin of its own, so that it cannot use what the origin it comes from keeps in a browser: tokens,
 * storage, service workers. Scripts, forms and the like go on working.
 */
const SANDBOX = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals',
} as const

/**
 * The answer with a file as a browser shows it.
 *
 * @param name what the file is called where the path leads; empty if nothing is known
 * @param cid what the path leads to: the file's own, or that of the directory that it is the index of
 */
export function fileResponse(lookup: Lookup, file: FileNode, name: string, cid: CID): Promise<ApiResponse> {
  const type = typeOfName(lookup.query.get('filename') || name)
  // Anybody can write a page into an identity CID, without a pin that vouches for it.
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

/** The type of a file by its beginning. */
export async function sniff(blocks: BlockReader, file: FileNode): Promise<string> {
  const range = { start: 0, end: Math.min(SNIFFED_BYTES, file.size) }
  const chunks: Uint8Array[] = []
  for await (const chunk of streamFile(blocks, file, range)) chunks.push(chunk)
  return typeOfBytes(Buffer.concat(chunks))
}
