import { closeSync, constants, fsyncSync, open as openAsync, openSync, read, type Stats } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises'
import { platform } from 'node:os'
import { promisify } from 'node:util'
import { pageMemory } from '../concurrency/capacity/page-memory.ts'
import type { DiskSpace, FileSystem, NewFile } from '../domain/file-system.ts'

/**
 * Windows cannot sync a directory, so a power cut may lose the newest entries, and cannot refuse to follow a symbolic
 * link. Only this file handles differences between platforms.
 */
const WINDOWS = platform() === 'win32'

/** Modes of files and directories that give access only to the user who runs the node. */
export const OWNERS_FILE = 0o600
export const OWNERS_DIRECTORY = 0o700

/** Flags that create a file and bypass the page cache. Null if the platform has no O_DIRECT. */
export const DIRECT: number | null =
  constants.O_DIRECT === undefined
    ? null
    : constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DIRECT

const openFile = promisify(openAsync)
const readFile = promisify(read)

export const nodeFileSystem: FileSystem = {
  create: async path => newFile(await open(path, 'wx', OWNERS_FILE)),
  append: async path => newFile(await open(path, constants.O_WRONLY | constants.O_APPEND), await sizeOf(path)),
  read: (path, size) => readStart(path, size, Buffer.allocUnsafeSlow),
  size: sizeOf,
  rename,
  unlink,
  makeDirectory: async path => {
    await mkdir(path, OWNERS_DIRECTORY)
  },
  list: path => readdir(path),
  syncDirectory,
  space: spaceAt,
  place: async path => {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev}:${ino}`
  },
}

/** File system of a thread that frees most blocks itself, right after it has sent them. */
export const pagedFileSystem: FileSystem = {
  ...nodeFileSystem,
  read: (path, size) => readStart(path, size, length => pageMemory.take(length)),
}

function newFile(handle: FileHandle, position = 0): NewFile {
  return {
    write: async bytes => {
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position)
        written += bytesWritten
        position += bytesWritten
      }
    },
    datasync: () => handle.datasync(),
    close: () => handle.close(),
  }
}

/** Reads the start of a file. Closes it in this thread, which takes microseconds. A hop to the thread pool takes longer. */
async function readStart(path: string, size: number, allocate: (length: number) => Buffer): Promise<Uint8Array> {
  const file = await openFile(path, 'r')
  try {
    const bytes = allocate(size)
    let length = 0
    while (length < size) {
      const { bytesRead } = await readFile(file, bytes, length, size - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length === size ? bytes : bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path)
  if (!found.isFile()) throw Object.assign(new Error(`${path} is not a file`), { code: 'EISDIR' })
  return found.size
}

async function syncDirectory(path: string): Promise<void> {
  if (WINDOWS) return
  const handle = await open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function spaceAt(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** Blocks until the sync ends, for files that must be on the disk before a transaction commits. */
export function syncDirectoryNow(path: string): void {
  if (WINDOWS) return
  const directory = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** Opens a file for reading. Fails with `ELOOP` if the last segment is a symbolic link. The caller closes the file. */
export function openNoFollow(path: string | Buffer): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | (WINDOWS ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK))
}

/**
 * Opens a directory to reach its entries. Fails if the path is a symbolic link. The caller closes the directory. Not
 * for Windows.
 */
export function openDirectoryNoFollow(path: string | Buffer): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}

/** Returns whether other users may list a directory or write to it. Permission to enter it does not count. */
export function othersMayUse({ mode }: Stats): boolean {
  return !WINDOWS && (mode & 0o066) !== 0
}
