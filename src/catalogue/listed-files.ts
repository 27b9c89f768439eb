/** A file below a directory. */
export interface ListedFile {
  path: string
  codec: number
  multihash: Uint8Array
  /** Content bytes. */
  size: number
}

/** What is known of the content of a record, without its bytes. */
export interface ListedContent {
  /** Distinct blocks, and their bytes. */
  blocks: number
  dagSize: number
  fileCount: number
  /** When the network was last told who has it, in milliseconds since the epoch; null for never. */
  announcedAt: number | null
}

/** The files below directories, by the root that a record names. */
export interface Files {
  content(rootId: number): Promise<ListedContent | undefined>
  /** A page of the files, in the order in which they were noted; any page costs the same. */
  page(rootId: number, offset: number, limit: number): Promise<ListedFile[]>
  /** A page of those files that have one content, and how many there are. */
  pageOf(
    rootId: number,
    multihash: Uint8Array,
    offset: number,
    limit: number,
  ): Promise<{ files: ListedFile[]; total: number }>
}
