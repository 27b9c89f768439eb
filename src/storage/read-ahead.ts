import { open, stat } from 'node:fs/promises'

const READ_BYTES = 1024 * 1024

/**
 * Reads a database into the system's cache in the thread pool. A later statement then does not hold the event loop
 * while it waits for a slow disk. Does nothing for a file larger than `mostBytes`, whose first pages the system would
 * have dropped before the end.
 *
 * @throws the reason of the signal
 */
export async function readIntoCache(path: string, mostBytes: number, signal?: AbortSignal): Promise<void> {
  if ((await stat(path)).size > mostBytes) return
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES)
      if (bytesRead === 0) return
    }
  } finally {
    await file.close()
  }
}
