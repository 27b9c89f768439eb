import { randomUUID } from 'node:crypto'
import type { LiveContent } from '../content/live-content.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../http/types.ts'
import { contentHeaders, corsHeaders } from './content-headers.ts'
import { parseContentPath } from './content-path.ts'
import { directoryResponse, slashRedirect } from './directory-response.ts'
import { matchesAny } from './etag.ts'
import { failureResponse } from './failure-response.ts'
import { fileResponse } from './file-response.ts'
import type { Lookup } from './lookup.ts'
import { notModified } from './not-modified.ts'
import { RequestBlocks } from './request-blocks.ts'
import { findEntry, resolve } from './resolver.ts'
import { StreamBody } from './stream-body.ts'
import { decodeNode, type UnixfsNode } from './unixfs-node.ts'

export interface GatewayDependencies {
  content: LiveContent
  clock: Clock
  logger: Logger
}

const METHODS = 'GET, HEAD, OPTIONS'
const PREFLIGHT_SECONDS = '86400'

/** Serves pinned content at `/ipfs/<cid>/<path>`. */
export function createGateway({ content, clock, logger }: GatewayDependencies): ApiHandler {
  return async request => {
    const started = clock.now()
    let response: ApiResponse
    let failure: unknown
    try {
      response = await answer(request)
    } catch (error) {
      failure = error
      response = failureResponse(request, error, randomUUID())
    }
    const { status } = response
    const bytes = Number(response.headers['content-length'] ?? 0)
    const fields = { method: request.method, path: request.path, status, bytes, ms: clock.now() - started }
    if (status >= 500) logger.error({ ...fields, err: failure }, 'gateway request failed')
    else logger.info(fields, 'gateway request')
    return finished(request, response)
  }

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') {
      return { status: 204, headers: { allow: METHODS, 'access-control-max-age': PREFLIGHT_SECONDS }, body: null }
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HoldfastError('METHOD_NOT_ALLOWED', `content answers ${METHODS}`, { details: { allow: METHODS } })
    }
    const path = parseContentPath(request.path)
    const blocks = RequestBlocks.open(path.cid, content, clock)
    if (blocks === null) throw new HoldfastError('CID_NOT_FOUND', `${path.root} is not pinned on this node`)
    try {
      const resolved = await resolve(blocks, path.root, path.names)
      const query = new URLSearchParams(request.query)
      const lookup = { ...resolved, request, path, query, blocks, now: clock.now() }
      return held(lookup, await respond(lookup))
    } catch (error) {
      blocks.release()
      throw error
    }
  }

  /** Keeps the blocks for as long as the body is being read. */
  function held({ blocks, request }: Lookup, response: ApiResponse): ApiResponse {
    const { body } = response
    if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
      blocks.release()
      return response
    }
    const end = (failure?: unknown): void => {
      request.signal.removeEventListener('abort', leave)
      blocks.release()
      if (failure !== undefined && !request.signal.aborted) {
        logger.error({ path: request.path, err: failure }, 'gateway response broken off')
      }
    }
    const stream = new StreamBody(body[Symbol.asyncIterator](), end)
    const leave = (): void => void stream.return().catch(() => undefined)
    request.signal.addEventListener('abort', leave, { once: true })
    return { ...response, body: stream }
  }
}

async function respond(lookup: Lookup): Promise<ApiResponse> {
  const { node, path, blocks } = lookup
  if (node.kind === 'directory' || node.kind === 'shard') {
    if (!path.hasTrailingSlash) return slashRedirect(lookup)
    const index = await findEntry(blocks, node, 'index.html')
    if (index === null) return directoryResponse(lookup, node)
    const page = decodeNode(index, await blocks.get(index))
    return contentResponse({ ...lookup, names: [...lookup.names, 'index.html'] }, page)
  }
  return contentResponse(lookup, node)
}

async function contentResponse(lookup: Lookup, node: UnixfsNode): Promise<ApiResponse> {
  if (node.kind !== 'file') throw new HoldfastError('NOT_FOUND', `${node.cid} is no file or directory`)
  const etag = `"${node.cid}"`
  if (matchesAny(lookup.request.header('if-none-match'), etag)) return notModified(contentHeaders(lookup, etag))
  return fileResponse(lookup, node, etag)
}

function finished(request: ApiRequest, { status, headers, body }: ApiResponse): ApiResponse {
  const known = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  return {
    status,
    headers: { ...corsHeaders, ...known, ...headers },
    body: request.method === 'HEAD' ? null : body,
  }
}
