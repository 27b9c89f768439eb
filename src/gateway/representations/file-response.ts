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
 * Gives a page its own origin, so that it cannot access the gateway's tokens, storage and service workers. Scripts,
 * forms, popups, downloads and dialogs still work.
 */
const SANDBOX = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals',
} as const

/**
 * Answers with a file as a browser shows it.
 *
 * @param name the file's name at the end of the path; empty if unknown
 * @param cid the file's CID, or that of the directory whose index it is
 */
export function fileResponse(lookup: Lookup, file: FileNode, name: string, cid: CID): Promise<ApiResponse> {
  const type = typeOfName(lookup.query.get('filename') || name)
  // Anyone can put a page into an identity CID, without a pin.
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

/** Detects a file's type from its first bytes. */
export async function sniff(blocks: BlockReader, file: FileNode): Promise<string> {
  const range = { start: 0, end: Math.min(SNIFFED_BYTES, file.size) }
  const chunks: Uint8Array[] = []
  for await (const chunk of streamFile(blocks, file, range)) chunks.push(chunk)
  return typeOfBytes(Buffer.concat(chunks))
}
