import type { CID } from 'multiformats/cid'
import type { Activity } from '../../concurrency/activity.ts'
import type { ByteRange } from '../../content/unixfs/file-stream.ts'
import { streamFile } from '../../content/unixfs/file-stream.ts'
import { type FileNode, fileInOneBlock, type UnixfsNode } from '../../content/unixfs/node.ts'
import { bytesOfText, canonicalText } from '../../domain/byte-text.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC, parseCid } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import { MEDIA_TYPE } from '../http/format.ts'
import { streamCar } from '../representations/car-stream.ts'
import { servedType } from '../representations/file-response.ts'
import { type Listing, listDirectory } from '../source/directory-listing.ts'
import type { RequestBlocks } from '../source/request-blocks.ts'
import { type Resolved, resolve } from '../source/resolver.ts'
import type { ContentRoot, RootOpener } from '../source/root-opener.ts'
import type {
  Content,
  ContentAddress,
  ContentEntry,
  ContentRange,
  ContentStat,
  ContentStream,
  ReadContent,
  ReadRequest,
} from './content-request.ts'
import { OpenStreams, type StreamSource } from './open-streams.ts'

export interface ContentReaderParts {
  opener: RootOpener
  /**
   * Returns the number of an account that has pinned the content, and null for any other account. Throws HoldfastError
   * `NOT_FOUND` for an unknown account.
   */
  ownerOf: (account: string, cid: CID, signal: AbortSignal) => Promise<number | null>
  activity: Activity
  clock: Clock
}

export class ContentReader implements Content {
  readonly #parts: ContentReaderParts
  readonly #streams: OpenStreams

  constructor(parts: ContentReaderParts) {
    this.#parts = parts
    this.#streams = new OpenStreams(parts.activity, parts.clock)
  }

  async read(request: ReadRequest): Promise<ReadContent> {
    const wanted = checkedRange(request.range)
    return this.#streaming(request, true, async (blocks, resolved, path) => {
      const file = fileOf(resolved, path)
      const about = {
        cid: String(resolved.node.cid),
        size: file.size,
        type: await typeOf(blocks, resolved, file),
      }
      return { bytes: streamFile(blocks, file, rangeWithin(wanted, file.size)), about }
    })
  }

  stat(request: ContentAddress): Promise<ContentStat> {
    return this.#reading(request, false, async (blocks, { node, block }) => {
      return { cid: String(node.cid), type: TYPES[node.kind], size: await sizeOf(blocks, node, block) }
    })
  }

  async *entries(request: ContentAddress): AsyncGenerator<ContentEntry, void, undefined> {
    let after: string | null = null
    do {
      // Releases the directory's blocks after each page, because the caller may wait for any time between pages.
      const page: Listing = await this.#reading(request, true, async (blocks, { node }, path) => {
        if (node.kind === 'directory' || node.kind === 'shard') return listDirectory(blocks, node, after)
        throw new HoldfastError('INVALID_PATH', `${nameOf(path)} is not a directory`)
      })
      for (const { cid, ...entry } of page.entries) yield { ...entry, cid: String(cid) }
      after = page.next
    } while (after !== null)
  }

  async exportCar(request: ContentAddress): Promise<ContentStream> {
    const { stream } = await this.#streaming(request, false, async (blocks, { node }) => {
      const whole = { trail: [node.cid], scope: 'all', range: null, duplicates: false } as const
      return { bytes: streamCar(blocks, whole), about: {} }
    })
    return stream
  }

  #reading<T>(
    request: ContentAddress,
    followLast: boolean,
    read: (blocks: RequestBlocks, resolved: Resolved, path: ContentRoot) => Promise<T>,
  ): Promise<T> {
    return this.#streams.during(request.signal, async signal => {
      const { blocks, resolved, path } = await this.#open(request, followLast, signal)
      try {
        return await read(blocks, resolved, path)
      } finally {
        blocks.release()
      }
    })
  }

  #streaming<T>(
    request: ContentAddress,
    followLast: boolean,
    make: (
      blocks: RequestBlocks,
      resolved: Resolved,
      path: ContentRoot,
    ) => Promise<{ bytes: AsyncIterable<Uint8Array>; about: T }>,
  ): Promise<T & { stream: ContentStream }> {
    return this.#streams.open(request.signal, async signal => {
      const { blocks, resolved, path } = await this.#open(request, followLast, signal)
      const release = (): void => blocks.release()
      try {
        const { bytes, about } = await make(blocks, resolved, path)
        const source: StreamSource = { bytes, release, watch: end => blocks.watch(end) }
        return { source, about }
      } catch (error) {
        release()
        throw error
      }
    })
  }

  async #open(request: ContentAddress, followLast: boolean, signal: AbortSignal) {
    const path = pathOf(request)
    const blocks = await this.#blocksOf(path, request.account, signal)
    try {
      const resolved = await resolve(blocks, path.root, path.names, followLast)
      blocks.checkPath(resolved.roots, resolved.names)
      return { blocks, resolved, path }
    } catch (error) {
      blocks.release()
      throw error
    }
  }

  async #blocksOf(path: ContentRoot, account: string | undefined, signal: AbortSignal): Promise<RequestBlocks> {
    const { opener, ownerOf } = this.#parts
    if (account === undefined) return opener.open({ signal, header: () => undefined }, path)
    const owner = await ownerOf(account, path.cid, signal)
    if (owner !== null) return opener.openPinned(path, owner, signal)
    throw new HoldfastError('CID_NOT_FOUND', `the account has not pinned ${path.root}`)
  }
}

const TYPES = {
  file: 'file',
  directory: 'directory',
  shard: 'directory',
  symlink: 'symlink',
  opaque: 'other',
} as const satisfies Record<UnixfsNode['kind'], ContentStat['type']>

const CODEC_TYPES = new Map<number, string>([
  [CODEC.dagJson, MEDIA_TYPE['dag-json']],
  [CODEC.dagCbor, MEDIA_TYPE['dag-cbor']],
  [CODEC.json, MEDIA_TYPE.json],
  [CODEC.cbor, MEDIA_TYPE.cbor],
])

/** @throws HoldfastError `INVALID_CID`, `VALIDATION` */
function pathOf({ cid: text, path = '', account }: ContentAddress): ContentRoot {
  for (const [field, value] of Object.entries({ cid: text, path, account: account === undefined ? '' : account })) {
    if (typeof value !== 'string') {
      const hint = field === 'cid' ? ': pass an object such as { cid }' : ''
      throw new HoldfastError('VALIDATION', `${field} must be text${hint}`)
    }
  }
  return {
    cid: parseCid(text),
    root: text.trim(),
    names: canonicalText(path)
      .split('/')
      .filter(name => name !== ''),
  }
}

function nameOf({ root, names }: ContentRoot): string {
  return formatContentPath(root, names)
}

/** Returns the file at the end of a path. A block that is not UnixFS counts as a file of its bytes. */
function fileOf({ node, block }: Resolved, path: ContentRoot): FileNode {
  if (node.kind === 'file') return node
  if (node.kind === 'opaque') return fileInOneBlock(node.cid, block)
  if (node.kind !== 'symlink') throw new HoldfastError('INVALID_PATH', `${nameOf(path)} is a directory`)
  throw new HoldfastError('NOT_FOUND', `${nameOf(path)} is a symbolic link at the root, which cannot be followed`)
}

async function typeOf(blocks: RequestBlocks, { node, names }: Resolved, file: FileNode): Promise<string> {
  if (node.kind === 'opaque') return CODEC_TYPES.get(node.cid.code) ?? 'application/octet-stream'
  return (await servedType(blocks, file, names.at(-1) ?? '')).value
}

async function sizeOf(blocks: RequestBlocks, node: UnixfsNode, block: Uint8Array): Promise<number> {
  if (node.kind === 'file') return node.size
  if (node.kind === 'symlink') return bytesOfText(node.target).length
  if (node.kind === 'opaque') return block.length
  let size = block.length
  for (const { dagSize } of node.links) {
    size += dagSize
    const turn = blocks.budget.step()
    if (turn !== null) await turn
  }
  return size
}

/** @throws HoldfastError `VALIDATION` */
function checkedRange({ start = 0, end = Number.MAX_SAFE_INTEGER }: ContentRange = {}): ByteRange {
  for (const [field, value] of Object.entries({ start, end })) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw new HoldfastError('VALIDATION', `range.${field} must be a whole number of bytes`)
  }
  if (end < start) throw new HoldfastError('VALIDATION', 'range.end must not come before range.start')
  return { start, end }
}

/** @throws HoldfastError `RANGE_NOT_SATISFIABLE` if the range starts after the end of the content */
function rangeWithin({ start, end }: ByteRange, size: number): ByteRange {
  if (start <= size) return { start, end: Math.min(end, size) }
  throw new HoldfastError('RANGE_NOT_SATISFIABLE', `range starts after the ${size} bytes of the content`, {
    details: { size },
  })
}
