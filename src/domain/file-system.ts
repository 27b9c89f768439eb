/** A file that is being written under a name that nobody else knows. */
export interface NewFile {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>
  /** Makes the bytes, but not the file's name, survive a power cut. */
  datasync(): Promise<void>
  /** Without it, the file stays open. */
  close(): Promise<void>
}

/** Room on the file system of a directory, in bytes. */
export interface DiskSpace {
  /** What this process may still write. */
  freeBytes: number
  totalBytes: number
}

/**
 * How an engine writes files. Names survive a power cut only once the directory they are in has been synced. Every
 * operation fails with the error of `node:fs`, whose `code` says why.
 */
export interface FileSystem {
  /** Creates a file that must not be there yet, for the user who runs the node alone. The caller closes it. */
  create(path: string): Promise<NewFile>
  /** The first `size` bytes of a file, fewer if it is shorter. */
  read(path: string, size: number): Promise<Uint8Array>
  /** How long a file is, in bytes. */
  size(path: string): Promise<number>
  /** Gives a file another name on the same file system, in place of what has that name. */
  rename(from: string, to: string): Promise<void>
  /** Deletes a file. */
  unlink(path: string): Promise<void>
  /** Creates one directory, for the user who runs the node alone. */
  makeDirectory(path: string): Promise<void>
  /** The names in a directory, in no order. */
  list(path: string): Promise<string[]>
  /** Makes the entries of a directory (creations, renames, deletions) survive a power cut. */
  syncDirectory(path: string): Promise<void>
  /** How much room there is where a directory is. */
  space(path: string): Promise<DiskSpace>
  /** A text that tells a directory from any other, whatever its path. Without it a replaced directory is not noticed. */
  place?(path: string): Promise<string>
}

/** The code of a failed operation of the file system, such as `ENOENT`; undefined for other errors. */
export function fileErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns whether the directory had to be made. */
export async function madeDirectory(files: Pick<FileSystem, 'makeDirectory'>, path: string): Promise<boolean> {
  try {
    await files.makeDirectory(path)
    return true
  } catch (error) {
    if (fileErrorCode(error) !== 'EEXIST') throw error
    return false
  }
}
