/** Content in the process: a root, and a path below it. */
export interface ContentAddress {
  /** Of either version, in any multibase. */
  cid: string
  /** Names below the root, `/` between them, as they are: nothing is percent-encoded. Default: the root itself. */
  path?: string | undefined
  /**
   * Only what this account has pinned, roots and what is below them. Without: whatever the gateway shows to everybody.
   */
  account?: string | undefined
  /** Its abort ends the reading, a stream that is under way included, with `ABORTED`. */
  signal?: AbortSignal | undefined
}

/** Bytes `start` up to and without `end`, as `slice` counts; what lies behind the end of the content is cut off. */
export interface ContentRange {
  /** Default 0. */
  start?: number | undefined
  /** Default: the end of the content. */
  end?: number | undefined
}

/** What is to be read, and how much of it. */
export interface ReadRequest extends ContentAddress {
  range?: ContentRange | undefined
}

/**
 * Bytes, each block checked by its hash. A stream is read once; one that is not read to its end is closed, as
 * `for await` does, or by its signal. Whatever breaks it throws; the pieces that came before are right.
 */
export type ContentStream = AsyncIterableIterator<Uint8Array>

/** A file, or the bytes of another block. */
export interface ReadContent {
  /** What the path led to, in version 1 or as it is linked. */
  cid: string
  /** Bytes of the whole, whatever the range. */
  size: number
  /** Media type, by the name in the path, else by the first bytes. */
  type: string
  stream: ContentStream
}

/** What a path leads to. A symbolic link is not followed if it is the last name. */
export interface ContentStat {
  /** In version 1 or as it is linked. */
  cid: string
  /** `other`: a block that is not UnixFS. */
  type: 'file' | 'directory' | 'symlink' | 'other'
  /** Content bytes of a file, bytes of a link's target or another block; of a directory the bytes that its links claim. */
  size: number
}

/** An entry of a directory. */
export interface ContentEntry extends ContentStat {
  name: string
}

/**
 * Content, read in the process by the rules of the gateway: with an `account` only what that account has pinned, without
 * one what the gateway shows to everybody. What is taken down is refused to both.
 *
 * @throws HoldfastError of every method: `CID_NOT_FOUND` if the content is not here, not shown, or not the account's;
 * `NOT_FOUND` for a name below it, or an unknown account; `INVALID_CID` for a CID that is none and for content that is
 * not what it claims; `VALIDATION` naming a field; `GONE` or `LEGAL_REASONS` if it is taken down; `BLOCK_DAMAGED`;
 * `DIRECTORY_TOO_LARGE` for what has more parts than are followed; `ABORTED` if the signal ended it; `UNAVAILABLE` if
 * it is still being fetched, could not be read in time, or the engine stops.
 */
export interface Content {
  /**
   * A file, or the bytes of a block of another codec. Resolves once its first bytes are there.
   *
   * @throws HoldfastError `INVALID_PATH` for a directory, `RANGE_NOT_SATISFIABLE` for a range that begins behind the end
   */
  read(request: ReadRequest): Promise<ReadContent>
  /** What is there, without reading it. */
  stat(request: ContentAddress): Promise<ContentStat>
  /**
   * The entries of a directory, however many: a plain one by name, a sharded one in the order of its shards.
   *
   * @throws HoldfastError `INVALID_PATH` for what is no directory
   */
  entries(request: ContentAddress): AsyncIterable<ContentEntry>
  /** A CAR, version 1, of what is there and everything below it, each block once, depth first. */
  exportCar(request: ContentAddress): Promise<ContentStream>
}
