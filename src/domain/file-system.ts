/** A file open for writing. */
export interface NewFile {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>
  /** Makes the bytes, but not the file's name, survive a power cut. */
  datasync(): Promise<void>
  /** Closes the file, which otherwise stays open. */
  close(): Promise<void>
}

/** Room on the file system of a directory, in bytes. */
export interface DiskSpace {
  /** Bytes that this process may still write. */
  freeBytes: number
  totalBytes: number
}

/**
 * Port for files. Names survive a power cut only once their directory has been synced. Every operation fails with the
 * error of `node:fs`, whose `code` says why.
 */
export interface FileSystem {
  /** Creates a file that must not exist, readable by the node's user alone. The caller closes it. */
  create(path: string): Promise<NewFile>
  /** Opens an existing file to write after its last byte. The caller closes it. */
  append(path: string): Promise<NewFile>
  /** Reads the first `size` bytes of a file, fewer if it is shorter. */
  read(path: string, size: number): Promise<Uint8Array>
  /** Returns the length of a file in bytes. */
  size(path: string): Promise<number>
  /** Renames a file within its file system, replacing an existing one. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Creates one directory, accessible to the node's user alone. */
  makeDirectory(path: string): Promise<void>
  /** Returns the names in a directory, in no order. */
  list(path: string): Promise<string[]>
  /** Makes the entries of a directory (creations, renames, deletions) survive a power cut. */
  syncDirectory(path: string): Promise<void>
  /** Returns the room on a directory's file system. */
  space(path: string): Promise<DiskSpace>
  /**
   * Returns an identity of a directory that does not depend on its path. Without it a replaced directory is not
   * noticed.
   */
  place?(path: string): Promise<string>
}

/** Returns the code of a failed file operation, such as `ENOENT`; undefined for other errors. */
export function fileErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Creates a directory if it is missing, and returns whether it was. */
export async function madeDirectory(files: Pick<FileSystem, 'makeDirectory'>, path: string): Promise<boolean> {
  try {
    await files.makeDirectory(path)
    return true
  } catch (error) {
    if (fileErrorCode(error) !== 'EEXIST') throw error
    return false
  }
}
