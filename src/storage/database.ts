import SqliteDatabase from 'better-sqlite3'
import { HoldfastError } from '../domain/errors.ts'
import { keepCopy, makeOwnersFile, syncNow } from './kept-copy.ts'
import { migrations } from './migrations.ts'
import { searchWords } from './search-function.ts'

/** What SQLite stores; booleans are 0 or 1. */
export type SqlValue = string | number | null | Uint8Array

/** A prepared statement with its parameters and row shape. */
export interface Statement<Params extends SqlValue[], Row> {
  run(...params: Params): { changes: number; lastInsertRowid: number | bigint }
  get(...params: Params): Row | undefined
  all(...params: Params): Row[]
}

/** How long a statement waits for another process that is writing, such as the account commands. */
const BUSY_TIMEOUT_MS = 5_000
/** Pages of the log from which on a commit moves them into the database, if nobody else does that. */
const CHECKPOINT_PAGES = 1_000
const LATE_CHECKPOINT_PAGES = 32_000
/** What SQLite calls `auto_vacuum = INCREMENTAL`. */
const INCREMENTAL = 2
/** Pages that a copy takes before it gives the loop back. */
const COPIED_AT_ONCE = 200

/**
 * The SQLite database of a data directory, with the newest schema. The owner of the directory migrates an older one and
 * keeps a copy of it beside it. Several processes may have it open (the account and key commands beside a running
 * server). The caller closes it.
 */
export class Database {
  readonly #sqlite: SqliteDatabase.Database
  /** Made once: each one that is made has closures and statements of its own. */
  readonly #transaction: SqliteDatabase.Transaction<(work: () => unknown) => unknown>
  readonly #log: SqliteDatabase.Statement<[], { log: number; checkpointed: number }>
  readonly #commits: SqliteDatabase.Statement<[], { data_version: number }>
  readonly #changes: SqliteDatabase.Statement<[], { count: number }>
  #durable = true
  #closed = false

  /**
   * @param options.readonly for a copy that nobody writes to, and which is not migrated
   * @param options.isOwned whether the caller owns the data directory, as a migration needs; a new database needs no owner
   * @throws HoldfastError `DATA_DIR_NEWER` if a newer Holdfast wrote the file; `DATA_DIR_IN_USE` if an older one did and
   * the caller does not own the directory; `DATA_DIR_UNUSABLE` if it cannot be opened, written or read as a database.
   */
  constructor(file: string, { readonly = false, isOwned = true }: { readonly?: boolean; isOwned?: boolean } = {}) {
    let sqlite: SqliteDatabase.Database | undefined
    try {
      sqlite = new SqliteDatabase(file, { timeout: BUSY_TIMEOUT_MS, readonly })
      if (readonly) checkSchema(sqlite, file)
      else prepareForWriting(sqlite, file, isOwned)
    } catch (cause) {
      sqlite?.close()
      if (cause instanceof HoldfastError) throw cause
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new HoldfastError('DATA_DIR_UNUSABLE', `cannot open ${file}: ${reason}`, { cause })
    }
    this.#sqlite = sqlite
    this.#transaction = sqlite.transaction(work => work())
    this.#log = sqlite.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#commits = sqlite.prepare('PRAGMA data_version')
    this.#changes = sqlite.prepare('SELECT total_changes() AS count')
  }

  prepare<Params extends SqlValue[], Row = unknown>(sql: string): Statement<Params, Row> {
    this.#checkOpen()
    const statement = this.#sqlite.prepare<Params, Row>(preparedOnce(sql)) as unknown as Statement<Params, Row>
    const checked = (): Statement<Params, Row> => {
      this.#checkOpen()
      return statement
    }
    return {
      run: (...params) => checked().run(...params),
      get: (...params) => checked().get(...params),
      all: (...params) => checked().all(...params),
    }
  }

  /** Runs `work` in a write transaction: all of it or nothing. Inside another transaction it is a savepoint. */
  transaction<T>(work: () => T): T {
    this.#checkOpen()
    return this.#transaction.immediate(work) as T
  }

  /**
   * Whether the commits to come wait for the disk. Without it they survive the end of the process but not a power
   * cut, until the next durable commit makes all of them durable (the log is sequential).
   */
  setDurable(durable: boolean): void {
    this.#checkOpen()
    if (durable === this.#durable) return
    this.#sqlite.pragma(`synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
    this.#durable = durable
  }

  /** Leaves checkpoints to somebody else: commits make them only once the log is far longer than it should get. */
  leaveCheckpoints(): void {
    this.#checkOpen()
    this.#sqlite.pragma(`wal_autocheckpoint = ${LATE_CHECKPOINT_PAGES}`)
  }

  /** Pages that the log has, and how many of them are in the database already. */
  logPages(): { pages: number; moved: number } {
    this.#checkOpen()
    const state = this.#log.get()
    return { pages: state?.log ?? 0, moved: state?.checkpointed ?? 0 }
  }

  /**
   * Moves what the log holds into the database, so that the log is written from its start again and needs no more
   * room. Returns whether it could.
   */
  restartLog(): boolean {
    try {
      const [result] = this.#sqlite.pragma('wal_checkpoint(RESTART)') as Array<{ busy: number; log: number }>
      return result !== undefined && result.busy === 0 && result.log > 0
    } catch {
      return false
    }
  }

  /**
   * Gives free pages back to the file system, at most so many. Part of a transaction. Returns how many are left; a database
   * of an earlier version keeps its free pages, to use them again, and has none to give.
   */
  giveBack(pages: number): number {
    this.#checkOpen()
    if (this.#sqlite.pragma('auto_vacuum', { simple: true }) !== INCREMENTAL) return 0
    this.#sqlite.pragma(`incremental_vacuum(${pages})`)
    return this.#sqlite.pragma('freelist_count', { simple: true }) as number
  }

  /**
   * Writes the database anew without its free pages, and has it give them back by itself from then on. Takes its time, and
   * as much room on the disk as it has bytes; nobody else may have it open. Returns its bytes before and after.
   */
  compact(): { before: number; after: number } {
    this.#checkOpen()
    const bytes = (): number => {
      const [pages, size] = ['page_count', 'page_size'].map(name => this.#sqlite.pragma(name, { simple: true }))
      return Number(pages) * Number(size)
    }
    const before = bytes()
    this.#sqlite.pragma('auto_vacuum = INCREMENTAL')
    // The copy that it makes is as large as the database.
    this.#sqlite.pragma('temp_store = FILE')
    this.#sqlite.exec('VACUUM')
    this.#sqlite.pragma('temp_store = MEMORY')
    this.#sqlite.pragma('wal_checkpoint(TRUNCATE)')
    return { before, after: bytes() }
  }

  /** False inside a transaction that SQLite itself has rolled back, as it does when the disk is full. */
  get inTransaction(): boolean {
    return this.#sqlite.inTransaction
  }

  /**
   * Copies the database while it is in use, as it is when this resolves, into a file of its own that is on the disk by
   * then. The file must not be there yet.
   *
   * @throws the signal's reason
   */
  async copyTo(file: string, signal?: AbortSignal): Promise<void> {
    this.#checkOpen()
    makeOwnersFile(file)
    const progress = (): number => {
      signal?.throwIfAborted()
      return COPIED_AT_ONCE
    }
    await this.#sqlite.backup(file, { progress })
    // As one file: with a log beside it, it could not be read where it cannot be written.
    const copy = new SqliteDatabase(file)
    copy.pragma('journal_mode = DELETE')
    copy.close()
    syncNow(file)
  }

  /** Changes when another connection has committed; never by this one's own commits. */
  dataVersion(): number {
    this.#checkOpen()
    return this.#commits.get()?.data_version ?? 0
  }

  /** What is another text as soon as anything has been changed here, or another connection has committed. */
  version(): string {
    this.#checkOpen()
    return `${this.#changes.get()?.count} ${this.dataVersion()}`
  }

  /** From now on everything throws `UNAVAILABLE`. */
  close(): void {
    this.#closed = true
    this.#sqlite.close()
  }

  #checkOpen(): void {
    if (this.#closed) throw new HoldfastError('UNAVAILABLE', 'the node has stopped')
  }
}

/**
 * SQLite may plan by what a parameter is given, and then prepares the statement anew as often as it is bound, which takes
 * longer than most of ours run. Behind a plus it does not look at it; nothing else changes.
 */
function preparedOnce(sql: string): string {
  return sql.replaceAll('?', '+?')
}

function prepareForWriting(sqlite: SqliteDatabase.Database, file: string, isOwned: boolean): void {
  // Before anything is set: an older server may have the file open.
  if (!isOwned) refuseOlder(sqlite, file)
  // Only a database that has no page yet takes this: it can give free pages back a few at a time.
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('cache_size = -65536')
  sqlite.pragma('mmap_size = 0')
  sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  sqlite.function('search_words', { deterministic: true, varargs: true }, searchWords)
  migrate(sqlite, file, isOwned)
  // What a savepoint undoes is a few pages, which would be a file as soon as they are 64 KiB. Migrations may need more.
  sqlite.pragma('temp_store = MEMORY')
}

/** Returns the schema that a database has. */
function checkSchema(sqlite: SqliteDatabase.Database, file: string): number {
  const version = sqlite.pragma('user_version', { simple: true }) as number
  if (version <= migrations.length) return version
  throw new HoldfastError(
    'DATA_DIR_NEWER',
    `${file} has schema ${version}, written by a newer Holdfast; this one knows up to ${migrations.length}`,
  )
}

/** @throws HoldfastError `DATA_DIR_IN_USE` for a database that only the owner of its directory may migrate */
function refuseOlder(sqlite: SqliteDatabase.Database, file: string): void {
  const version = checkSchema(sqlite, file)
  if (version === 0 || version === migrations.length) return
  throw new HoldfastError(
    'DATA_DIR_IN_USE',
    `${file} has schema ${version} of an older Holdfast, and a server of that version may be running: ` +
      'stop it and start this version first, or run the command of that version',
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
        // Another process has written since: it may have migrated, or the copy lacks what it wrote.
        if (commits() !== seen) return
        for (const sql of migrations.slice(version())) sqlite.exec(sql)
        sqlite.pragma(`user_version = ${migrations.length}`)
      })
      .immediate()
  }
}
