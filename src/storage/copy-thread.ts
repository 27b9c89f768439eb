// Worker thread that copies a database, which may be in use, to another file, and syncs that file.
// Any message stops the copying. The thread answers once, and ends.
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import SqliteDatabase from 'better-sqlite3'

export interface DatabaseCopy {
  from: string
  to: string
}

export interface CopyAnswer {
  error?: { message: string; code: string }
}

/** Number of pages after which the thread looks for a message. */
const COPIED_AT_ONCE = 1_000
const FEW_PAGES = 200

let isStopped = false
parentPort?.once('message', () => {
  isStopped = true
})

const { from, to } = workerData as DatabaseCopy
try {
  await copy()
  parentPort?.postMessage({} satisfies CopyAnswer)
} catch (error) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  parentPort?.postMessage({ error: { message: String(error), code } } satisfies CopyAnswer)
}
parentPort?.close()

async function copy(): Promise<void> {
  const source = new SqliteDatabase(from, { readonly: true, fileMustExist: true })
  try {
    source.pragma(`cache_size = ${FEW_PAGES}`)
    // Without a transaction of its own, the copy would start again after each commit of the node.
    source.exec('BEGIN')
    source.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
    await source.backup(to, {
      progress: () => {
        if (isStopped) throw new Error('the copying was stopped')
        return COPIED_AT_ONCE
      },
    })
  } finally {
    source.close()
  }
  // SQLite could not open a copy with a log on a read-only file system, so the copy gets no log.
  const target = new SqliteDatabase(to)
  target.pragma('synchronous = OFF')
  target.pragma('journal_mode = DELETE')
  target.close()
  const file = openSync(to, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
