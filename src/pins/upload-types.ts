import type { NewAttributes, UnixTime } from '../domain/file-attributes.ts'
import type { ByteSource } from '../domain/sources.ts'
import type { UploadOptions } from './pin-types.ts'

export type { NewAttributes, UnixTime }

/**
 * Options of a file upload. A file with attributes has another CID: that of `ipfs add --preserve-mode
 * --preserve-mtime`.
 */
export interface FileUploadOptions extends UploadOptions, NewAttributes {}

/** Options of an import by server path. */
export interface DirectoryImportOptions extends UploadOptions {
  /** True to store the permissions of files and directories. */
  preserveMode?: boolean | undefined
  /** True to store the times of the last modification, also of symbolic links. */
  preserveMtime?: boolean | undefined
}

/**
 * Entry of a directory to upload. Paths are relative, with `/` between names. The engine reads each content to its end
 * before it requests the next entry.
 */
export type DirectoryEntry =
  /** A form may send the path after the content. Then `path` is a function, called after the content is read. */
  | ({ kind: 'file'; path: string | (() => string); content: ByteSource } & NewAttributes)
  /** The path `.` is the uploaded directory itself. */
  | ({ kind: 'directory'; path: string } & NewAttributes)
  | ({ kind: 'symlink'; path: string; target: string } & Pick<NewAttributes, 'mtime'>)

/** Entries of a directory, in any order. */
export type DirectoryEntries = AsyncIterable<DirectoryEntry> | Iterable<DirectoryEntry>
