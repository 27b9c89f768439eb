/** A file open for writing. */
export interface NewFile {
  write(bytes: Uint8Array): Promise<void>
  /** Makes the bytes survive a power cut, but not the name of the file. */
  datasync(): Promise<void>
  close(): Promise<void>
}

/** Space on the file system of a directory, in bytes. */
export interface DiskSpace {
  /** Bytes that this process may still write. */
  freeBytes: number
  totalBytes: number
}

/**
 * Port for files. A file name survives a power cut only after a sync of its directory. A failed operation throws the
 * error of `node:fs`, whose `code` is the reason.
 */
export interface FileSystem {
  /** Creates a file that must not exist yet. Only the node's user can read the file. The caller closes the file. */
  create(path: string): Promise<NewFile>
  /** Opens an existing file to append to it. The caller closes the file. */
  append(path: string): Promise<NewFile>
  /** Reads the first `size` bytes, or fewer if the file is shorter. */
  read(path: string, size: number): Promise<Uint8Array>
  size(path: string): Promise<number>
  /** Renames a file within its file system, and replaces a file that has the new name. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Creates one directory, which only the node's user can access. */
  makeDirectory(path: string): Promise<void>
  /** Returns the names of the entries of a directory, in no particular order. */
  list(path: string): Promise<string[]>
  /** Makes created, renamed and deleted entries of a directory survive a power cut. */
  syncDirectory(path: string): Promise<void>
  space(path: string): Promise<DiskSpace>
  /**
   * Returns an identity of a directory that does not depend on the directory's path. Without this method, the node
   * cannot detect that a directory was replaced.
   */
  place?(path: string): Promise<string>
}

export function fileErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns whether the directory was missing. */
export async function madeDirectory(files: Pick<FileSystem, 'makeDirectory'>, path: string): Promise<boolean> {
  try {
    await files.makeDirectory(path)
    return true
  } catch (error) {
    if (fileErrorCode(error) !== 'EEXIST') throw error
    return false
  }
}
