/** The address of content. */
export interface ContentAddress {
  /** CID of the root, in any version and multibase. */
  cid: string
  /** Text forms of names, separated by `/`, without percent-encoding. Default: the root itself. */
  path?: string | undefined
  /**
   * Reads only DAGs that the account with this id has pinned. Default: all content that the gateway serves to everyone.
   */
  account?: string | undefined
  /** Aborts the call and its open stream with the error `ABORTED`. */
  signal?: AbortSignal | undefined
}

/** The bytes from `start` up to but not including `end`, clipped at the end of the content. */
export interface ContentRange {
  /** Default: 0. */
  start?: number | undefined
  /** Default: the end of the content. */
  end?: number | undefined
}

/** An address and the range to read. */
export interface ReadRequest extends ContentAddress {
  range?: ContentRange | undefined
}

/**
 * Verified bytes, which can be read once, as a web stream or by `for await`. The stream reads only on demand. To close
 * it early, leave the loop, cancel the stream or abort the signal. If a read fails, all earlier chunks are valid.
 */
export type ContentStream = ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>

/** The content of a file, or the bytes of a block that is not UnixFS. */
export interface ReadContent {
  /** CID of the content at the end of the path, in version 0 or 1. */
  cid: string
  /** Size of the whole content in bytes, regardless of the range. */
  size: number
  /** Media type by the name in the path, or else by the first bytes. */
  type: string
  stream: ContentStream
}

/** The content at a path. A symbolic link at the end of the path is not followed. */
export interface ContentStat {
  /** CID of the content, in version 0 or 1. */
  cid: string
  /** `other` means a block that is not UnixFS. */
  type: 'file' | 'directory' | 'symlink' | 'other'
  /**
   * Size in bytes: of a file's content, a symbolic link's target, or a block. For a directory, the sum of the DAG sizes
   * in its links.
   */
  size: number
}

/** An entry of a directory. */
export interface ContentEntry extends ContentStat {
  /** Text form: a byte that is not UTF-8 is U+EF00 plus the byte. */
  name: string
}

/**
 * Reads content by the rules of the gateway. Content that is taken down is always refused.
 *
 * @throws HoldfastError from every method: `CID_NOT_FOUND` if the root is missing, not served, or not pinned by the
 * account; `NOT_FOUND` for a missing name below the root, or an unknown account; `INVALID_CID` for an invalid CID, or a
 * block that does not match its codec; `VALIDATION` for an invalid field; `GONE` or `LEGAL_REASONS` if the content is
 * taken down; `BLOCK_DAMAGED`; `DIRECTORY_TOO_LARGE` for a DAG with too many parts; `ABORTED` after an abort of the
 * signal; `UNAVAILABLE` if the content is still being fetched, was not readable in time, or the engine stops
 */
export interface Content {
  /**
   * Reads a file, or a block that is not UnixFS. The promise resolves when the first bytes are available.
   *
   * @throws HoldfastError `INVALID_PATH` for a directory; `RANGE_NOT_SATISFIABLE` for a range that starts after the end
   * @example const { stream } = await engine.content.read({ cid, path: 'index.html' })
   */
  read(request: ReadRequest): Promise<ReadContent>
  /**
   * Returns the type and size of the content without reading all of it.
   * @example const { type, size } = await engine.content.stat({ cid })
   */
  stat(request: ContentAddress): Promise<ContentStat>
  /**
   * Yields the entries of a directory: a plain directory by name, a sharded directory in the order of its shards.
   *
   * @throws HoldfastError `INVALID_PATH` if the content is not a directory
   * @example for await (const { name, size } of engine.content.entries({ cid })) console.log(name, size)
   */
  entries(request: ContentAddress): AsyncIterable<ContentEntry>
  /**
   * Exports the whole DAG as a CAR, version 1, in depth-first order. Each block occurs once.
   * @example await pipeline(await engine.content.exportCar({ cid }), createWriteStream('site.car'))
   */
  exportCar(request: ContentAddress): Promise<ContentStream>
}
