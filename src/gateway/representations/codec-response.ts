import { tokensOf } from '../../content/dag/document.ts'
import type { WalkBudget } from '../../content/dag/ordered-walk.ts'
import { fileInOneBlock, type UnixfsNode } from '../../content/unixfs/node.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { CODEC } from '../../ipld/cid.ts'
import { isUnchanged } from '../http/conditions.ts'
import { dispositionHeader } from '../http/disposition.ts'
import { type Format, MEDIA_TYPE } from '../http/format.ts'
import { notModified } from '../http/not-modified.ts'
import { documentText } from '../pages/document-text.ts'
import { escapeHtml, htmlPage, PAGE_HEADERS } from '../pages/html.ts'
import { bytesResponse } from './bytes-response.ts'
import { headerName, listingHeaders } from './content-headers.ts'
import type { Lookup } from './lookup.ts'

type OpaqueNode = Extract<UnixfsNode, { kind: 'opaque' }>
type CodecFormat = Extract<Format, 'dag-json' | 'dag-cbor' | 'json' | 'cbor'>

/** Increment the version after a change of the page's design, so browsers reload the page. */
const PAGE_VERSION = 2

/** The formats in which each codec can be requested, without conversion. */
const FORMATS_OF: ReadonlyMap<number, readonly CodecFormat[]> = new Map([
  [CODEC.dagJson, ['dag-json', 'json']],
  [CODEC.dagCbor, ['dag-cbor', 'cbor']],
  [CODEC.json, ['json']],
  [CODEC.cbor, ['cbor']],
])

export function rawResponse(lookup: Lookup): ApiResponse {
  return blockResponse(lookup, 'raw', 'attachment', 'bin')
}

/**
 * Returns the block in a format of its codec, without conversion.
 *
 * @param asked null for the default format of the codec
 * @throws HoldfastError `NOT_ACCEPTABLE` if the codec does not support the format
 */
export async function codecResponse(lookup: Lookup, asked: CodecFormat | null): Promise<ApiResponse> {
  const { cid } = lookup.node
  const formats = FORMATS_OF.get(cid.code) ?? []
  const format = asked ?? formats[0]
  if (format === undefined || !formats.includes(format)) {
    const reason = `${cid} has codec 0x${cid.code.toString(16)}, which is not converted`
    throw new HoldfastError('NOT_ACCEPTABLE', asked === null ? `${reason}: request format=raw` : reason)
  }
  if (lookup.node.kind === 'opaque') await checkDocument(lookup.node, lookup.blocks.budget)
  const isText = format === 'json' || format === 'dag-json'
  return blockResponse(lookup, format, isText ? 'inline' : 'attachment', isText ? 'json' : 'cbor')
}

export async function documentResponse(lookup: Lookup, node: OpaqueNode): Promise<ApiResponse> {
  const etag = `"DagIndex-${PAGE_VERSION}_CID-${headerName(node.cid)}"`
  const headers = listingHeaders(lookup, etag)
  if (isUnchanged(lookup.request, { etag })) return notModified(headers)
  const { text, isWhole } = await documentText(node, lookup.blocks.budget)
  const more = isWhole ? '' : '<p>This page omits the rest of the document.</p>'
  const formats = [...(FORMATS_OF.get(node.cid.code) ?? []), 'raw', 'car']
  const links = formats.map(format => `<a href="?format=${format}">${format}</a>`).join('')
  const body = `<h1><code>${node.cid}</code></h1><nav>${links}</nav><pre>${escapeHtml(text)}</pre>${more}`
  return { status: 200, headers: { ...headers, ...PAGE_HEADERS }, body: htmlPage(node.cid.toString(), body) }
}

/** @throws HoldfastError `INVALID_CID` if the block is no valid document of its codec */
async function checkDocument(node: OpaqueNode, budget: WalkBudget): Promise<void> {
  for await (const _ of tokensOf(node, budget));
}

function blockResponse(lookup: Lookup, format: Format, kind: 'inline' | 'attachment', ending: string): ApiResponse {
  const { node, block, query } = lookup
  const named = headerName(node.cid)
  return bytesResponse(lookup, {
    file: fileInOneBlock(node.cid, block),
    etag: `"${named}.${format}"`,
    contentType: MEDIA_TYPE[format],
    headers: dispositionHeader(query, { kind, name: `${named}.${ending}` }),
  })
}
