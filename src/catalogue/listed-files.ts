/** A file below a directory. */
export interface ListedFile {
  path: string
  codec: number
  multihash: Uint8Array
  /** In bytes. */
  size: number
}

/** Facts about the content of a record. */
export interface ListedContent {
  /** Number of distinct blocks. */
  blocks: number
  dagSize: number
  fileCount: number
  /** When this node last announced the content, in milliseconds since the epoch; null for never. */
  announcedAt: number | null
}

/** The files below directories. Each directory is identified by the id of its root in the ledger. */
export interface Files {
  content(rootId: number): Promise<ListedContent | undefined>
  /** Returns a page of the files, in insertion order. The cost does not depend on `offset`. */
  page(rootId: number, offset: number, limit: number): Promise<ListedFile[]>
  /** Returns a page of the files with the given content, and the total number of such files. */
  pageOf(
    rootId: number,
    multihash: Uint8Array,
    offset: number,
    limit: number,
  ): Promise<{ files: ListedFile[]; total: number }>
}
