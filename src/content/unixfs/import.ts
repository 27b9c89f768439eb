import { unixfs } from '@helia/unixfs'
import type { ImportResult } from 'ipfs-unixfs-importer'
import type { CID as CIDType } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import { type ByteSource, bytesOf } from '../../domain/byte-source.ts'
import { CODEC } from '../../domain/cid.ts'
import { readAhead } from '../../domain/concurrency/read-ahead.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CHUNK_BYTES } from '../chunk-pool.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { Chunker } from './chunker.ts'
import { type FilePart, FileTree } from './file-tree.ts'

/** A file or directory that has been stored. */
export interface ImportedNode {
  cid: CIDType
  /** Content bytes. */
  size: number
  /** What a link to it says in its Tsize: the bytes of all blocks below, repeated ones counted each time. */
  tsize: number
}

/** Chunks of one file that are read, and being hashed, before they are waited for. */
const CHUNKS_AHEAD = 8

/**
 * The profile is named although @helia/unixfs has the same defaults for files: its default for splitting
 * directories is another (IPIP-499).
 */
const PROFILE = { profile: 'unixfs-v1-2025', cidVersion: 1, rawLeaves: true } as const

export interface ImportFileOptions {
  /** What messages call the content. Default: `content`. */
  name?: string | undefined
  signal?: AbortSignal | undefined
  /** Called with the length of each piece before it is taken in; may throw to refuse it. */
  onBytes?: ((length: number) => void) | undefined
}

/**
 * Stores a file's content as UnixFS blocks of a staged DAG.
 *
 * @throws HoldfastError `VALIDATION` for content that is no source of bytes; what the source throws.
 */
export async function importFile(
  staged: StagedDag,
  content: ByteSource,
  options: ImportFileOptions = {},
): Promise<ImportedNode> {
  let size = 0
  const chunker = new Chunker(options.signal)
  const pieces = counted(bytesOf(content, { name: options.name ?? 'content', signal: options.signal }), length => {
    options.onBytes?.(length)
    size += length
  })
  const leaves = startedLeaves(staged, chunker, pieces)
  const { value: first } = await leaves.next()
  if (first === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a file came to no block')
  if (first.isOnly) {
    await leaves.return(undefined)
    const { cid } = await first.stored
    return { cid, size, tsize: size }
  }
  const tree = new FileTree(staged)
  for await (const { stored } of readAhead(withFirst(first, leaves), CHUNKS_AHEAD)) await tree.add(await stored)
  const { cid, tsize } = await tree.root()
  return { cid, size, tsize }
}

/** Stores a symbolic link; it is never followed. */
export async function importSymlink(staged: StagedDag, target: string): Promise<ImportedNode> {
  const link = await only(
    unixfs({ blockstore: blockstoreOf(staged) }).addAll([{ path: 'link', link: target }], PROFILE),
  )
  return { cid: link.cid, size: 0, tsize: Number(link.size) }
}

/** A raw block that is being hashed, and handed to the staged DAG. */
interface Leaf {
  stored: Promise<FilePart>
  /** Whether it is certain that the file has no other. */
  isOnly: boolean
}

/** Leaves are raw blocks, hashed by threads and handed to the staged DAG, which does not make them wait. */
async function* startedLeaves(
  staged: StagedDag,
  chunker: Chunker,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Leaf, undefined, undefined> {
  let isFirst = true
  for await (const chunk of chunker.chunks(pieces)) {
    const stored = storeLeaf(staged, chunk, chunker)
    stored.catch(() => undefined)
    yield { stored, isOnly: isFirst && chunk.length < CHUNK_BYTES }
    isFirst = false
  }
}

async function* withFirst<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first
  yield* rest
}

async function storeLeaf(staged: StagedDag, bytes: Uint8Array, chunker: Chunker): Promise<FilePart> {
  const size = bytes.length
  const release = (): void => chunker.release(bytes)
  const digest = await staged.store.hash(bytes).catch((error: unknown) => {
    release()
    throw error
  })
  const cid = CID.createV1(CODEC.raw, digest)
  await staged.put(cid, bytes, release)
  return { cid, size, tsize: size }
}

/** Counts what passes. */
async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    count(piece.length)
    yield piece
  }
}

/** The last of what an import yields is its root. */
async function only(results: AsyncIterable<ImportResult>): Promise<ImportResult> {
  let last: ImportResult | undefined
  for await (const result of results) last = result
  if (last === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the import made no root')
  return last
}

function blockstoreOf(staged: StagedDag): Parameters<typeof unixfs>[0]['blockstore'] {
  return {
    put: (cid: CIDType, bytes: Uint8Array) => staged.put(cid, bytes),
    has: (cid: CIDType) => staged.store.has(cid),
    get: async function* (cid: CIDType) {
      yield await staged.store.get(cid)
    },
  } as Parameters<typeof unixfs>[0]['blockstore']
}
