import type SqliteDatabase from 'better-sqlite3'
import { HoldfastError } from '../domain/errors.ts'
import { keepCopy } from './kept-copy.ts'
import { migrations } from './migrations.ts'
import { addSearchFunctions } from './search-function.ts'

/** Number of log pages at which a commit runs a checkpoint, without a checkpoint thread. */
const CHECKPOINT_PAGES = 1_000

/** Sets the pragmas of a writer and migrates the schema. */
export function prepareForWriting(sqlite: SqliteDatabase.Database, file: string, isOwned: boolean): void {
  // This check comes before any pragma, because an older server may have the file open.
  if (!isOwned) refuseOlder(sqlite, file)
  // Has an effect only in a database without pages. SQLite can then return free pages in small steps.
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('mmap_size = 0')
  sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  addSearchFunctions(sqlite)
  migrate(sqlite, file, isOwned)
  // Without this pragma, SQLite writes savepoint pages beyond 64 KiB to a file.
  // The migrations come first, because they may need more space than the memory has.
  sqlite.pragma('temp_store = MEMORY')
}

/** @throws HoldfastError `DATA_DIR_NEWER` if the version is unknown */
export function checkSchema(sqlite: SqliteDatabase.Database, file: string): number {
  const version = sqlite.pragma('user_version', { simple: true }) as number
  if (version <= migrations.length) return version
  throw new HoldfastError(
    'DATA_DIR_NEWER',
    `${file} has schema ${version}, written by a newer Holdfast; this one knows up to ${migrations.length}`,
  )
}

/** Throws `DATA_DIR_IN_USE` if the schema is older, because only the owner may migrate it. */
function refuseOlder(sqlite: SqliteDatabase.Database, file: string): void {
  const version = checkSchema(sqlite, file)
  if (version === 0 || version === migrations.length) return
  throw new HoldfastError(
    'DATA_DIR_IN_USE',
    `${file} has schema ${version} of an older Holdfast, whose server may run: ` +
      'stop it and start this version, or run the command of that version',
  )
}

function migrate(sqlite: SqliteDatabase.Database, file: string, isOwned: boolean): void {
  const version = (): number => checkSchema(sqlite, file)
  const commits = (): unknown => sqlite.pragma('data_version', { simple: true })
  while (version() !== migrations.length) {
    if (!isOwned) refuseOlder(sqlite, file)
    const seen = commits()
    if (version() > 0) keepCopy(sqlite, file, version())
    sqlite
      .transaction(() => {
        // Another process has migrated the database, or has written to it after the copy was made.
        if (commits() !== seen) return
        for (const sql of migrations.slice(version())) sqlite.exec(sql)
        sqlite.pragma(`user_version = ${migrations.length}`)
      })
      .immediate()
  }
}
