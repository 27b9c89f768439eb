// Worker thread that copies the write-ahead log of a database into the database file.
// Each message runs one checkpoint. The message null ends the thread.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteDatabase from 'better-sqlite3'

export interface CheckpointAnswer {
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

/** Runs a checkpoint. A page that a reader still needs stays in the log until the next checkpoint. */
function checkpoint(): CheckpointAnswer {
  try {
    sqlite.pragma('wal_checkpoint(PASSIVE)')
    return {}
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { error: { message: String(error), code } }
  }
}
