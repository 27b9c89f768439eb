import { isDocument } from '../../content/dag/document.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import type { FormatChoice } from '../http/format.ts'
import { wantsHtml } from '../http/format.ts'
import type { DirectoryNode } from '../source/directory-listing.ts'
import { findEntry } from '../source/resolver.ts'
import { carResponse, tarResponse } from './archive-response.ts'
import { codecResponse, documentResponse, rawResponse } from './codec-response.ts'
import { directoryResponse, slashRedirect } from './directory-response.ts'
import { fileResponse } from './file-response.ts'
import type { Lookup } from './lookup.ts'

export async function respond(lookup: Lookup, choice: FormatChoice | null): Promise<ApiResponse> {
  const { node } = lookup
  switch (choice?.format) {
    case 'raw':
      return rawResponse(lookup)
    case 'car':
      return carResponse(lookup, choice)
    case 'tar':
      return tarResponse(lookup)
    case 'dag-json':
    case 'dag-cbor':
      return codecResponse(lookup, choice.format)
    case 'ipns-record':
      throw new HoldfastError('VALIDATION', 'format ipns-record applies to IPNS names, not to content')
    case 'json':
      if (node.kind === 'directory' || node.kind === 'shard') return directoryResponse(lookup, node, 'json')
      return node.kind === 'opaque' ? codecResponse(lookup, 'json') : respondPlainly(lookup)
    case 'cbor':
      return node.kind === 'file' ? respondPlainly(lookup) : codecResponse(lookup, 'cbor')
    default:
      return respondPlainly(lookup)
  }
}

async function respondPlainly(lookup: Lookup): Promise<ApiResponse> {
  const { node, names, request } = lookup
  switch (node.kind) {
    case 'file':
      return fileResponse(lookup, node, names.at(-1) ?? '', node.cid)
    case 'directory':
    case 'shard':
      return lookup.path.hasTrailingSlash ? indexOrListing(lookup, node) : slashRedirect(lookup)
    case 'opaque':
      if (isDocument(node) && wantsHtml(request.header('accept'))) return documentResponse(lookup, node)
      return codecResponse(lookup, null)
    default:
      throw new HoldfastError('NOT_FOUND', `${node.cid} is a symbolic link at the root, which cannot be followed`)
  }
}

async function indexOrListing(lookup: Lookup, directory: DirectoryNode): Promise<ApiResponse> {
  const { blocks } = lookup
  const cid = await findEntry(blocks, directory, INDEX_PAGE)
  if (cid === null) return directoryResponse(lookup, directory, 'html')
  const { node: page } = await blocks.load(cid)
  if (page.kind !== 'file') return directoryResponse(lookup, directory, 'html')
  return fileResponse(lookup, page, INDEX_PAGE, directory.cid)
}

const INDEX_PAGE = 'index.html'
