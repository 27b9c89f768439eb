import type { CID as CIDType } from 'multiformats/cid'
import { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { type ByteSource, bytesOf, readAhead } from '../../domain/sources.ts'
import { CODEC } from '../../ipld/cid.ts'
import { CHUNK_BYTES, type ChunkPool, chunkPool } from '../block-threads.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { NO_ATTRIBUTES } from './attributes.ts'
import { type FilePart, FileTree, storeWrapped } from './file-tree.ts'

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
  /** Fields of `attributeFields`. A file with attributes has no raw blocks, as in Kubo. */
  attributes?: Uint8Array | undefined
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
  const { attributes = NO_ATTRIBUTES } = options
  const chunker = new Chunker(options.signal)
  const pieces = counted(bytesOf(content, { name: options.name ?? 'content', signal: options.signal }), length => {
    options.onBytes?.(length)
    size += length
  })
  const leaves =
    attributes.length === 0
      ? startedLeaves(staged, chunker, pieces)
      : wrappedLeaves(staged, chunker, pieces, attributes)
  const { value: first } = await leaves.next()
  if (first === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a file has no block')
  if (first.isOnly) {
    await leaves.return(undefined)
    return first.stored
  }
  const tree = new FileTree(staged)
  for await (const { stored } of readAhead(withFirst(first, leaves), CHUNKS_AHEAD)) await tree.add(await stored)
  const { cid, tsize } = await tree.root(attributes)
  return { cid, size, tsize }
}

/** Avoids the overhead of a stream. */
async function importSmall(
  staged: StagedDag,
  content: Uint8Array,
  { signal, onBytes, attributes = NO_ATTRIBUTES }: ImportFileOptions,
): Promise<ImportedNode> {
  signal?.throwIfAborted()
  onBytes?.(content.length)
  if (attributes.length > 0) return storeWrapped(staged, content, attributes)
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
    const stored = storedAhead(storeLeaf(staged, chunk, chunker))
    yield { stored, isOnly: isFirst && chunk.length < CHUNK_BYTES }
    isFirst = false
  }
}

/** Stores a chunk only when the next one follows, because the only chunk of a file has its attributes. */
async function* wrappedLeaves(
  staged: StagedDag,
  chunker: Chunker,
  pieces: AsyncIterable<Uint8Array>,
  attributes: Uint8Array,
): AsyncGenerator<Leaf, undefined, undefined> {
  let isOnly = true
  let last = Buffer.alloc(0)
  for await (const chunk of chunker.chunks(pieces)) {
    if (last.length > 0) {
      isOnly = false
      yield { stored: storedAhead(storeWrapped(staged, last)), isOnly }
    }
    last = Buffer.from(chunk)
    chunker.release(chunk)
  }
  yield { stored: storedAhead(storeWrapped(staged, last, isOnly ? attributes : NO_ATTRIBUTES)), isOnly }
}

/** Returns the promise, whose failure is no error of the process while nobody waits for it yet. */
function storedAhead(stored: Promise<FilePart>): Promise<FilePart> {
  stored.catch(() => undefined)
  return stored
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
