/** A file below a directory. */
export interface ListedFile {
  path: string
  codec: number
  multihash: Uint8Array
  /** Content bytes. */
  size: number
}

/** Metadata of a record's content. */
export interface ListedContent {
  /** Number of distinct blocks. */
  blocks: number
  dagSize: number
  fileCount: number
  /** When this node last announced the content to the network, in milliseconds since the epoch; null for never. */
  announcedAt: number | null
}

/** The files below directories. A directory is identified by the ledger root of its record. */
export interface Files {
  content(rootId: number): Promise<ListedContent | undefined>
  /** Returns a page of the files, in insertion order. Every page costs the same. */
  page(rootId: number, offset: number, limit: number): Promise<ListedFile[]>
  /** Returns a page of the files with a given content, and their total number. */
  pageOf(
    rootId: number,
    multihash: Uint8Array,
    offset: number,
    limit: number,
  ): Promise<{ files: ListedFile[]; total: number }>
}
