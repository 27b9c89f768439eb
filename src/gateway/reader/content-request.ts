/** The address of content: a root and a path below it. */
export interface ContentAddress {
  /** Any CID version and multibase. */
  cid: string
  /** Names below the root, separated by `/`, not percent-encoded. Default: the root itself. */
  path?: string | undefined
  /**
   * Restricts the content to DAGs that this account has pinned. Default: content that the gateway serves to everyone.
   */
  account?: string | undefined
  /** Aborts the reading, including an open stream, with `ABORTED`. */
  signal?: AbortSignal | undefined
}

/** Bytes from `start` up to but not including `end`, as in `slice`. Clipped at the end of the content. */
export interface ContentRange {
  /** Default 0. */
  start?: number | undefined
  /** Default: the end of the content. */
  end?: number | undefined
}

/** An address and the range to read. */
export interface ReadRequest extends ContentAddress {
  range?: ContentRange | undefined
}

/**
 * Verified bytes. Read a stream once. Close it early by leaving `for await` or by its signal. An error throws; all
 * earlier pieces are valid.
 */
export type ContentStream = AsyncIterableIterator<Uint8Array>

/** A file, or the bytes of a non-UnixFS block. */
export interface ReadContent {
  /** CID at the end of the path, in version 1 or as linked. */
  cid: string
  /** Size of the whole content in bytes, regardless of the range. */
  size: number
  /** Media type, from the name in the path or else from the first bytes. */
  type: string
  stream: ContentStream
}

/** Facts about the content at a path. A symbolic link in the last place is not followed. */
export interface ContentStat {
  /** In version 1 or as linked. */
  cid: string
  /** `other`: a block that is not UnixFS. */
  type: 'file' | 'directory' | 'symlink' | 'other'
  /**
   * Bytes of a file's content, of a link's target or of another block. For a directory, the sum that its links claim.
   */
  size: number
}

/** An entry of a directory. */
export interface ContentEntry extends ContentStat {
  name: string
}

/**
 * Reads content in the process, by the gateway's rules. With an `account` only the account's own pins; without one, the
 * content that the gateway serves to everyone. Both refuse content that is taken down.
 *
 * @throws HoldfastError of every method: `CID_NOT_FOUND` if the content is missing, not served, or not the account's;
 * `NOT_FOUND` for a name below it, or an unknown account; `INVALID_CID` for an invalid CID or content that does not
 * match it; `VALIDATION` naming a field; `GONE` or `LEGAL_REASONS` if it is taken down; `BLOCK_DAMAGED`;
 * `DIRECTORY_TOO_LARGE` for a DAG with too many parts; `ABORTED` if the signal ended it; `UNAVAILABLE` if it is still
 * being fetched, was not readable in time, or the engine stops
 */
export interface Content {
  /**
   * Reads a file, or a block of another codec. Resolves with the first bytes.
   *
   * @throws HoldfastError `INVALID_PATH` for a directory; `RANGE_NOT_SATISFIABLE` for a range that starts after the end
   */
  read(request: ReadRequest): Promise<ReadContent>
  /** Returns type and size without reading the content. */
  stat(request: ContentAddress): Promise<ContentStat>
  /**
   * Yields all entries of a directory: a plain one by name, a sharded one in the order of its shards.
   *
   * @throws HoldfastError `INVALID_PATH` if it is not a directory
   */
  entries(request: ContentAddress): AsyncIterable<ContentEntry>
  /** Returns a CAR, version 1, of the content and everything below it. Depth first, each block once. */
  exportCar(request: ContentAddress): Promise<ContentStream>
}
