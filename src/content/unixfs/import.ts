import { unixfs } from '@helia/unixfs'
import * as dagPb from '@ipld/dag-pb'
import type { ImportResult } from 'ipfs-unixfs-importer'
import { varint } from 'multiformats'
import type { CID as CIDType } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import { CODEC } from '../../domain/cid.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { type ByteSource, bytesOf, readAhead } from '../../domain/sources.ts'
import { CHUNK_BYTES, Chunker } from '../chunks.ts'
import type { StagedDag } from '../dag/staged-dag.ts'

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

/** A part of a file that has been stored: a chunk, or a node above others. */
export interface FilePart {
  cid: CID
  /** Content bytes. */
  size: number
  /** What a link to it says in its Tsize: the bytes of all blocks below, repeated ones counted each time. */
  tsize: number
}

/** Children of one node, as the profile `unixfs-v1-2025` (IPIP-499) has them. */
const WIDTH = 1_024

/**
 * The nodes above the chunks of one file: a balanced tree that is stored from below as the chunks come. Sizes are
 * encoded here, because the reference encoder of UnixFS writes those from 2 GiB to 4 GiB wrong.
 */
export class FileTree {
  readonly #staged: StagedDag
  /** The parts that have no parent yet, the chunks first. */
  readonly #levels: FilePart[][] = []

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  /** Takes the next chunk. */
  add(chunk: FilePart): Promise<void> {
    return this.#add(chunk, 0)
  }

  /** Stores what has no parent yet. Returns the root, which for a file of one chunk is the chunk. */
  async root(): Promise<FilePart> {
    for (let level = 0; ; level++) {
      const parts = this.#levels[level] ?? []
      const [only] = parts
      if (only !== undefined && parts.length === 1 && level + 1 >= this.#levels.length) return only
      await this.#add(await this.#store(parts), level + 1)
    }
  }

  async #add(part: FilePart, level: number): Promise<void> {
    const parts = this.#levels[level]
    if (parts === undefined) this.#levels[level] = [part]
    else if (parts.length < WIDTH) parts.push(part)
    else {
      this.#levels[level] = [part]
      await this.#add(await this.#store(parts), level + 1)
    }
  }

  async #store(parts: readonly FilePart[]): Promise<FilePart> {
    const links = parts.map(({ cid, tsize }) => ({ Name: '', Hash: cid, Tsize: tsize }))
    const bytes = dagPb.encode(dagPb.prepare({ Data: fileData(parts.map(part => part.size)), Links: links }))
    const cid = CID.createV1(CODEC.dagPb, await this.#staged.store.hash(bytes))
    await this.#staged.put(cid, bytes)
    return {
      cid,
      size: parts.reduce((sum, part) => sum + part.size, 0),
      tsize: parts.reduce((sum, part) => sum + part.tsize, bytes.length),
    }
  }
}

const FILE = Uint8Array.of(0x08, 2)
const FILE_SIZE = 0x18
const BLOCK_SIZE = 0x20

/** The UnixFS data of a file's node, given the content bytes below each of its links. */
export function fileData(sizes: readonly number[]): Uint8Array {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return Buffer.concat([FILE, number(FILE_SIZE, whole), ...sizes.map(size => number(BLOCK_SIZE, size))])
}

function number(key: number, value: number): Uint8Array {
  const bytes = new Uint8Array(1 + varint.encodingLength(value))
  bytes[0] = key
  return varint.encodeTo(value, bytes, 1)
}
