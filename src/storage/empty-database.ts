import { writeFileSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'
import { prepareForWriting } from './prepared-database.ts'

/** An empty database of the current schema. All migrations together take longer than the rest of a start. */
let template: Buffer | undefined

/** Creates the database of a new node. Later calls in a process are many times faster than migrating a new file. */
export function writeEmptyDatabase(file: string): void {
  template ??= migratedTemplate()
  writeFileSync(file, template, { flag: 'wx', mode: 0o600 })
  const sqlite = new SqliteDatabase(file)
  try {
    // The directory is deleted after the test, so nothing waits for the disk.
    sqlite.pragma('synchronous = OFF')
    sqlite.exec('UPDATE node_identity SET id = lower(hex(randomblob(16)))')
  } finally {
    sqlite.close()
  }
}

function migratedTemplate(): Buffer {
  const sqlite = new SqliteDatabase(':memory:')
  try {
    prepareForWriting(sqlite, 'the template', true)
    return sqlite.serialize()
  } finally {
    sqlite.close()
  }
}
