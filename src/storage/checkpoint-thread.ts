// Worker thread that moves the log of a database into the database. Each message runs one checkpoint; null ends the
// thread.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteDatabase from 'better-sqlite3'

export interface CheckpointAnswer {
  /** Message and code of SQLite's error. */
  error?: { message: string; code: string }
}

const sqlite = new SqliteDatabase(workerData as string, { fileMustExist: true, timeout: 0 })
sqlite.pragma('synchronous = FULL')

parentPort?.on('message', (message: 'checkpoint' | null) => {
  if (message === null) {
    sqlite.close()
    parentPort?.close()
    return
  }
  parentPort?.postMessage(checkpoint())
})

/**
 * Runs a checkpoint without waiting for readers: pages that a reader needs stay in the log until the next checkpoint.
 */
function checkpoint(): CheckpointAnswer {
  try {
    sqlite.pragma('wal_checkpoint(PASSIVE)')
    return {}
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { error: { message: String(error), code } }
  }
}
