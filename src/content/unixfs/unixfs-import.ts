import * as dagPb from '@ipld/dag-pb'
import { varint } from 'multiformats'
import type { CID as CIDType } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { type ByteSource, bytesOf, readAhead } from '../../domain/sources.ts'
import { CODEC } from '../../ipld/cid.ts'
import { CHUNK_BYTES, type ChunkPool, chunkPool } from '../block-threads.ts'
import type { StagedDag } from '../dag/staged-dag.ts'

export interface ImportedNode {
  cid: CIDType
  /** Content size in bytes. */
  size: number
  tsize: number
}

const CHUNKS_AHEAD = 8

export interface ImportFileOptions {
  /** Name of the content in error messages. Default: `content`. */
  name?: string | undefined
  signal?: AbortSignal | undefined
  /** Called with the length of each piece before the piece is processed. May throw to reject it. */
  onBytes?: ((length: number) => void) | undefined
}

/**
 * Stores a file's content as UnixFS blocks of a staged DAG.
 *
 * @throws HoldfastError `VALIDATION` for content that is not a source of bytes; any error of the source
 */
export async function importFile(
  staged: StagedDag,
  content: ByteSource,
  options: ImportFileOptions = {},
): Promise<ImportedNode> {
  if (content instanceof Uint8Array && content.length < CHUNK_BYTES) return importSmall(staged, content, options)
  let size = 0
  const chunker = new Chunker(options.signal)
  const pieces = counted(bytesOf(content, { name: options.name ?? 'content', signal: options.signal }), length => {
    options.onBytes?.(length)
    size += length
  })
  const leaves = startedLeaves(staged, chunker, pieces)
  const { value: first } = await leaves.next()
  if (first === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a file has no block')
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

/** Avoids the overhead of a stream. */
async function importSmall(
  staged: StagedDag,
  content: Uint8Array,
  { signal, onBytes }: ImportFileOptions,
): Promise<ImportedNode> {
  signal?.throwIfAborted()
  onBytes?.(content.length)
  const size = content.length
  // The caller may change its buffer while the block is being stored.
  const bytes = Buffer.from(content)
  const cid = CID.createV1(CODEC.raw, await staged.store.hash(bytes))
  await staged.put(cid, bytes)
  return { cid, size, tsize: size }
}

interface Leaf {
  stored: Promise<FilePart>
  isOnly: boolean
}

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

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    count(piece.length)
    yield piece
  }
}

/**
 * Splits a file into chunks of {@link CHUNK_BYTES} and a shorter last chunk. The source may reuse its buffer after each
 * piece. The consumer gives each chunk back with {@link release}. While the pool is empty, the file waits.
 */
export class Chunker {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined
  /** Buffer for a chunk while the pool has no spare chunk. */
  #own: Buffer | null = null

  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  async *chunks(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let chunk: Buffer = Buffer.alloc(0)
    let filled = 0
    let isEmpty = true
    try {
      for await (const bytes of source) {
        // A small file in one piece is copied only once, into a buffer of its size.
        if (filled === 0 && bytes.length < CHUNK_BYTES) {
          chunk = Buffer.from(bytes)
          filled = bytes.length
          continue
        }
        for (let taken = 0; taken < bytes.length; ) {
          if (chunk.length < CHUNK_BYTES) chunk = this.#grown(chunk, filled)
          const length = Math.min(bytes.length - taken, CHUNK_BYTES - filled)
          chunk.set(length === bytes.length ? bytes : bytes.subarray(taken, taken + length), filled)
          taken += length
          filled += length
          if (filled < CHUNK_BYTES) continue
          const whole = chunk === this.#own ? await this.#pool.move(chunk, this.#signal) : chunk
          chunk = Buffer.alloc(0)
          filled = 0
          isEmpty = false
          yield whole
        }
      }
      // An empty file must have one empty chunk, because every file needs a block.
      if (filled === 0 && !isEmpty) return
      // The last chunk may wait long for the disk, so do not keep a whole buffer in memory for it.
      if (filled < chunk.length) {
        const last = Buffer.from(chunk.subarray(0, filled))
        this.#pool.release(chunk)
        chunk = last
      }
      yield chunk
    } finally {
      // This chunk remains if the source failed or the consumer stopped. The consumer releases the chunks it received.
      if (filled > 0) this.#pool.release(chunk)
    }
  }

  release(chunk: Uint8Array): void {
    this.#pool.release(chunk)
  }

  #grown(chunk: Buffer, filled: number): Buffer {
    let whole = this.#pool.spare()
    if (whole === null) {
      this.#own ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)
      whole = this.#own
    }
    whole.set(chunk.subarray(0, filled))
    return whole
  }
}

/** A stored part of a file: a chunk, or a node whose children are parts. */
export interface FilePart {
  cid: CID
  /** Content size in bytes. */
  size: number
  tsize: number
}

/** Maximum number of children of one node, as in the profile `unixfs-v1-2025` (IPIP-499). */
const WIDTH = 1_024

/**
 * Builds the nodes above the chunks of one file: a balanced tree, stored from the bottom as the chunks arrive. Encodes
 * the sizes itself, because the reference encoder of UnixFS encodes sizes from 2 GiB to 4 GiB incorrectly.
 */
export class FileTree {
  readonly #staged: StagedDag
  /** The parts that have no parent yet, by level. The first level has the chunks. */
  readonly #levels: FilePart[][] = []

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  add(chunk: FilePart): Promise<void> {
    return this.#add(chunk, 0)
  }

  /** Returns the root, which is the chunk if there is only one. */
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

/** `sizes` are the content bytes below each link. */
export function fileData(sizes: readonly number[]): Uint8Array {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return Buffer.concat([FILE, number(FILE_SIZE, whole), ...sizes.map(size => number(BLOCK_SIZE, size))])
}

function number(key: number, value: number): Uint8Array {
  const bytes = new Uint8Array(1 + varint.encodingLength(value))
  bytes[0] = key
  return varint.encodeTo(value, bytes, 1)
}
