// The thread that moves the log of a database into the database. One message, one checkpoint; null ends it.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteDatabase from 'better-sqlite3'

export interface CheckpointAnswer {
  /** What SQLite failed with, and its code. */
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

/** Waits for nobody: what a reader still needs stays in the log until the next time. */
function checkpoint(): CheckpointAnswer {
  try {
    sqlite.pragma('wal_checkpoint(PASSIVE)')
    return {}
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { error: { message: String(error), code } }
  }
}
