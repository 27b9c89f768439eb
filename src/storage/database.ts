import { existsSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'
import { HoldfastError } from '../domain/errors.ts'
import { accountTriggers } from './account-triggers.ts'
import { copyDatabaseFile } from './copy-database.ts'
import { checkSchema, prepareForWriting } from './prepared-database.ts'
import { readIntoCache } from './read-ahead.ts'

/** Booleans are stored as 0 or 1. */
export type SqlValue = string | number | null | Uint8Array

export interface Statement<Params extends SqlValue[], Row> {
  run(...params: Params): { changes: number; lastInsertRowid: number | bigint }
  get(...params: Params): Row | undefined
  all(...params: Params): Row[]
  /** Reads rows one by one. No other statement may run before the end of the iteration. */
  iterate(...params: Params): Iterable<Row>
}

/** Time for which a statement waits while another process, such as an account command, writes. */
const BUSY_TIMEOUT_MS = 5_000
/** Number of log pages at which a commit runs a checkpoint, although a thread runs them earlier. */
const LATE_CHECKPOINT_PAGES = 32_000
const INCREMENTAL = 2

interface DatabaseOptions {
  readonly?: boolean
  isUntouched?: boolean
  isOwned?: boolean
  cacheBytes?: number
}

const MOST_CACHE_BYTES = 64 * 1024 ** 2
/** Accounts with one place share a version. Then a change of one account only costs another one a look-up. */
const VERSION_PLACES = 65_536

/**
 * The SQLite database of a data directory, with the newest schema. The caller closes the database.
 * The owner of the directory migrates an older schema and leaves a copy of the old database in the directory. Other
 * processes may have the database open too.
 */
export class Database {
  readonly #sqlite: SqliteDatabase.Database
  /** Created once, because each creation allocates closures and statements. */
  readonly #transaction: SqliteDatabase.Transaction<(work: () => unknown) => unknown>
  readonly #log: SqliteDatabase.Statement<[], { log: number; checkpointed: number }>
  readonly #commits: SqliteDatabase.Statement<[], { data_version: number }>
  /** Counts of changes: of all accounts, then by place. Null before the first question. */
  #versions: Uint32Array | null = null
  #durable = true
  #closed = false

  /**
   * Opens, creates or migrates the database.
   *
   * @param options.readonly true to open a copy without migrating it
   * @param options.isUntouched true to read the database of a data directory, even while a server uses it, and to leave
   *   all files as they were
   * @param options.isOwned true if the caller owns the data directory, which a migration requires
   * @param options.cacheBytes at most 64 MiB
   * @throws HoldfastError `DATA_DIR_NEWER` if a newer Holdfast wrote the file; `DATA_DIR_IN_USE` if only the owner may
   *   migrate it; `DATA_DIR_UNUSABLE` if the file is unusable
   */
  constructor(file: string, options: DatabaseOptions = {}) {
    const { isUntouched = false, isOwned = true, cacheBytes = MOST_CACHE_BYTES } = options
    // Without a log, a connection that may write removes the log that SQLite creates. With a log, a server may be running,
    // or was killed. A connection that may write would then move the log into the database.
    const { readonly = isUntouched && existsSync(`${file}-wal`) } = options
    let sqlite: SqliteDatabase.Database | undefined
    try {
      sqlite = new SqliteDatabase(file, { timeout: BUSY_TIMEOUT_MS, readonly })
      if (isUntouched) sqlite.pragma('query_only = ON')
      if (readonly || isUntouched) checkSchema(sqlite, file)
      else prepareForWriting(sqlite, file, isOwned)
      if (!readonly) sqlite.pragma(`cache_size = -${Math.floor(Math.min(cacheBytes, MOST_CACHE_BYTES) / 1024)}`)
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
      iterate: (...params) => checked().iterate(...params),
    }
  }

  /** Runs `work` in a write transaction, or in a savepoint within another transaction. */
  transaction<T>(work: () => T): T {
    this.#checkOpen()
    return this.#transaction.immediate(work) as T
  }

  /**
   * Sets whether later commits wait for the disk. A power cut can undo commits that do not wait, until the next durable
   * commit.
   */
  setDurable(durable: boolean): void {
    this.#checkOpen()
    if (durable === this.#durable) return
    this.#sqlite.pragma(`synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
    this.#durable = durable
  }

  /** Runs one commit that waits for the disk. Later commits wait as before. */
  durably<T>(commit: () => T): T {
    const before = this.#durable
    this.setDurable(true)
    try {
      return commit()
    } finally {
      this.setDurable(before)
    }
  }

  /** Leaves checkpoints to the caller, unless the log grows far beyond the usual limit. */
  leaveCheckpoints(): void {
    this.#checkOpen()
    this.#sqlite.pragma(`wal_autocheckpoint = ${LATE_CHECKPOINT_PAGES}`)
  }

  /** Returns the number of pages in the log, and how many of these are already in the database. */
  logPages(): { pages: number; moved: number } {
    this.#checkOpen()
    const state = this.#log.get()
    return { pages: state?.log ?? 0, moved: state?.checkpointed ?? 0 }
  }

  /**
   * Copies the log into the database, so that SQLite overwrites the log from its start. Returns whether this succeeded.
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
   * Gives up to `pages` free pages back to the file system, within a transaction. Returns the number of free pages
   * left; 0 for a database of an early version, which can only reuse its free pages.
   */
  giveBack(pages: number): number {
    this.#checkOpen()
    if (this.#sqlite.pragma('auto_vacuum', { simple: true }) !== INCREMENTAL) return 0
    this.#sqlite.pragma(`incremental_vacuum(${pages})`)
    return this.#sqlite.pragma('freelist_count', { simple: true }) as number
  }

  /**
   * Rewrites the database without its free pages, so that {@link giveBack} works from now on. Needs disk space for a
   * copy. No other connection may be open.
   */
  compact(): { before: number; after: number } {
    this.#checkOpen()
    const bytes = (): number => {
      const [pages, size] = ['page_count', 'page_size'].map(name => this.#sqlite.pragma(name, { simple: true }))
      return Number(pages) * Number(size)
    }
    const before = bytes()
    this.#sqlite.pragma('auto_vacuum = INCREMENTAL')
    // VACUUM creates a temporary copy that is as large as the database.
    this.#sqlite.pragma('temp_store = FILE')
    this.#sqlite.exec('VACUUM')
    this.#sqlite.pragma('temp_store = MEMORY')
    this.#sqlite.pragma('wal_checkpoint(TRUNCATE)')
    return { before, after: bytes() }
  }

  /** False if SQLite has rolled back the transaction by itself, for example because the disk is full. */
  get inTransaction(): boolean {
    return this.#sqlite.inTransaction
  }

  /** Copies the database like {@link copyDatabaseFile}. */
  async copyTo(file: string, signal?: AbortSignal): Promise<void> {
    this.#checkOpen()
    await copyDatabaseFile(this.#sqlite.name, file, signal)
  }

  /** Reads the database into the system's cache like {@link readIntoCache}. */
  readAhead(mostBytes: number, signal?: AbortSignal): Promise<void> {
    this.#checkOpen()
    return readIntoCache(this.#sqlite.name, mostBytes, signal)
  }

  /** Returns a number that changes when another connection commits, but not when this connection commits. */
  dataVersion(): number {
    this.#checkOpen()
    return this.#commits.get()?.data_version ?? 0
  }

  /**
   * Returns a text that differs after each change of the account's lists and statuses by this connection. Commits by
   * others change {@link dataVersion}.
   */
  versionOf(accountId: string): string {
    this.#checkOpen()
    this.#versions ??= this.#watchAccounts()
    return `${this.#versions[0]} ${this.#versions[placeOf(accountId)]}`
  }

  #watchAccounts(): Uint32Array {
    const versions = new Uint32Array(1 + VERSION_PLACES)
    this.#sqlite.function('account_changed', accountId => {
      const place = typeof accountId === 'string' ? placeOf(accountId) : 0
      versions[place] = (versions[place] ?? 0) + 1
      return null
    })
    this.#sqlite.exec(accountTriggers)
    return versions
  }

  /** Closes the database. Later calls throw `UNAVAILABLE`. */
  close(): void {
    this.#closed = true
    this.#sqlite.close()
  }

  #checkOpen(): void {
    if (this.#closed) throw new HoldfastError('UNAVAILABLE', 'the node has stopped')
  }
}

/**
 * Puts a plus before each parameter, which does not change the value. Without the plus, SQLite may plan by the bound
 * value and prepare the statement again at each binding.
 */
function preparedOnce(sql: string): string {
  return sql.replaceAll('?', '+?')
}

/** Returns the place of an account's version, from 1. */
function placeOf(accountId: string): number {
  let hash = 0
  for (let i = 0; i < accountId.length; i++) hash = (Math.imul(hash, 31) + accountId.charCodeAt(i)) >>> 0
  return 1 + (hash % VERSION_PLACES)
}
