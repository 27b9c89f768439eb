/** The address of content: a root and a path below it. */
export interface ContentAddress {
  /** CID of the root, in any version and multibase. */
  cid: string
  /** Path below the root: names separated by `/`, without percent-encoding. The default is the root itself. */
  path?: string | undefined
  /**
   * Id of an account. Only DAGs that this account has pinned can be read. Default: all content that the gateway serves
   * to everyone.
   */
  account?: string | undefined
  /** Signal that aborts the call and its open stream. The error is `ABORTED`. */
  signal?: AbortSignal | undefined
}

/**
 * The bytes from `start` up to but not including `end`, as in `slice`. The range is clipped at the end of the content.
 */
export interface ContentRange {
  /** Offset of the first byte. Default: 0. */
  start?: number | undefined
  /** Offset after the last byte. Default: the end of the content. */
  end?: number | undefined
}

/** An address and the range to read. */
export interface ReadRequest extends ContentAddress {
  range?: ContentRange | undefined
}

/**
 * A stream of verified bytes, which can be read once. To close the stream early, leave the `for await` loop or abort
 * the signal. If an iteration throws, all earlier chunks are valid.
 */
export type ContentStream = AsyncIterableIterator<Uint8Array>

/** The content of a file, or the bytes of a block that is not UnixFS. */
export interface ReadContent {
  /** CID of the content at the end of the path, in version 0 or 1. */
  cid: string
  /** Size of the whole content in bytes, regardless of the range. */
  size: number
  /** Media type, derived from the name in the path. If the name does not determine the type, the first bytes do. */
  type: string
  stream: ContentStream
}

/** Properties of the content at a path. If the path ends at a symbolic link, the properties are those of the link. */
export interface ContentStat {
  /** CID of the content, in version 0 or 1. */
  cid: string
  /** The type `other` means a block that is not UnixFS. */
  type: 'file' | 'directory' | 'symlink' | 'other'
  /**
   * Size in bytes: of a file's content, of a symbolic link's target, or of a block that is not UnixFS. For a directory,
   * the size is the sum of the DAG sizes in the links of the directory.
   */
  size: number
}

/** An entry of a directory. */
export interface ContentEntry extends ContentStat {
  name: string
}

/**
 * Reads content inside this process, by the rules of the gateway. With an `account`, only the account's own pins can be
 * read. Without an `account`, the content that the gateway serves to everyone can be read. Content that is taken down
 * is always refused.
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
   */
  read(request: ReadRequest): Promise<ReadContent>
  /** Returns the type and size of the content without reading all of it. */
  stat(request: ContentAddress): Promise<ContentStat>
  /**
   * Yields all entries of a directory. A plain directory is sorted by name. A sharded directory is in the order of its
   * shards.
   *
   * @throws HoldfastError `INVALID_PATH` if the content is not a directory
   */
  entries(request: ContentAddress): AsyncIterable<ContentEntry>
  /** Returns the whole DAG as a CAR, version 1. The blocks are in depth-first order, and each block occurs once. */
  exportCar(request: ContentAddress): Promise<ContentStream>
}
