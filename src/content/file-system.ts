import { closeSync, constants, fsyncSync, openSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { platform } from 'node:os'

/**
 * What differs between platforms stands here and nowhere else. Windows is best effort: it cannot sync a directory,
 * so there a power cut may lose the newest directory entries, and it cannot refuse to follow a symbolic link.
 */
const WINDOWS = platform() === 'win32'

/** Makes the entries of a directory (creations, renames, deletions) survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  if (WINDOWS) return
  const handle = await open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The same, at once: for what has to be on the disk before a transaction commits. */
export function syncDirectoryNow(path: string): void {
  if (WINDOWS) return
  const directory = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** Opens a file for reading, refusing a symbolic link in its last segment (`ELOOP`). The caller closes it. */
export function openNoFollow(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | (WINDOWS ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK))
}

/** Whether users besides the owner may list a directory or write to it. To pass through it is not meant. */
export function othersMayUse({ mode }: Stats): boolean {
  return !WINDOWS && (mode & 0o066) !== 0
}
