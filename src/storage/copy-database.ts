import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CopyAnswer, DatabaseCopy } from './copy-thread.ts'
import { makeOwnersFile } from './kept-copy.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './copy-thread.ts' : './copy-thread.js', import.meta.url)
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/**
 * Copies a database, which may be in use, to a new file, and syncs the file. The copy contains all commits made before
 * the call. A thread copies, because its last step may wait long for the disk.
 *
 * @throws the reason of the signal; the error of SQLite or of the file system, with its `code`
 */
export async function copyDatabaseFile(from: string, to: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  makeOwnersFile(to)
  const workerData: DatabaseCopy = { from, to }
  const options = { name: 'holdfast-database-copy', workerData, resourceLimits: SMALL_HEAP, execArgv: [] }
  const worker = new Worker(ENTRY, options)
  const stop = (): void => worker.postMessage('stop')
  signal?.addEventListener('abort', stop, { once: true })
  let answer: CopyAnswer | null = null
  worker.on('message', (message: CopyAnswer) => {
    answer = message
  })
  try {
    await once(worker, 'exit')
  } finally {
    signal?.removeEventListener('abort', stop)
  }
  signal?.throwIfAborted()
  if (answer === null) throw new Error('the thread that copies the database has ended')
  const { error } = answer as CopyAnswer
  if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code })
}
