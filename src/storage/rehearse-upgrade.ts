import { existsSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { databaseFiles } from '../disk/database-files.ts'
import { DATABASE } from '../disk/file-names.ts'
import { makeNamedDirectory } from '../disk/make-directory.ts'
import { systemClock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { Database } from './database.ts'
import { copyInto, keptCopies, keptCopyOf } from './kept-copy.ts'
import { migrations } from './migrations.ts'
import { checkSchema } from './prepared-database.ts'

const TEMPORARY = 'tmp'
const REHEARSAL = 'upgrade-rehearsal.db'
/** Number of times the size of the database that the rehearsal may write: two copies, and the log. */
const COPIES = 4
const UNCHANGED = { seconds: 0, logBytes: 0 }

/** Result of a rehearsal, with the size and duration of the change that the first start makes. */
export interface UpgradeRehearsal {
  /** Version of the database's schema. */
  schema: number
  /** Version after the upgrade, equal to {@link schema} if nothing changes. */
  newSchema: number
  /** Duration of the change at the first start, 0 if nothing changes. */
  seconds: number
  databaseBytes: number
  newDatabaseBytes: number
  /** Bytes that the first start needs beside the database: the copy that stays, the log and the growth. */
  neededBytes: number
  /** Free bytes of the disk with the data directory. */
  freeBytes: number
}

/**
 * Carries out the change that the first start of this version makes, on a copy of the database. The data directory
 * stays as it is, and the server of the older version may run. Blocks the event loop for the time of the change.
 *
 * @param dataDir a data directory of this or an earlier version
 * @param scratch directory for the copy; default: `tmp` in the data directory
 * @throws HoldfastError `VALIDATION` if `scratch` cannot be used; `NOT_FOUND` if the directory has no database;
 *   `DATA_DIR_NEWER`; `DATA_DIR_UNUSABLE` if the database is damaged or cannot be read; `STORAGE_FULL` if the disk of
 *   the copy has too little space
 * @example const { freeBytes } = rehearseUpgrade('/data')
 */
export function rehearseUpgrade(dataDir: string, scratch = join(dataDir, TEMPORARY)): UpgradeRehearsal {
  const file = resolve(dataDir, DATABASE)
  if (!existsSync(file)) throw new HoldfastError('NOT_FOUND', `${resolve(dataDir)} has no ${DATABASE}`)
  makeNamedDirectory('scratch', scratch)
  refuseFullDisk(file, scratch)
  const copy = join(scratch, REHEARSAL)
  // A rehearsal that was killed leaves its files. In a directory of somebody else, they may be somebody else's.
  if (resolve(scratch) !== resolve(dataDir, TEMPORARY)) refuseExisting(copy)
  remove(copy)
  try {
    const schema = copyTo(copy, file)
    const databaseBytes = statSync(copy).size
    const { seconds, logBytes } = schema === migrations.length ? UNCHANGED : migrate(copy)
    const newDatabaseBytes = statSync(copy).size
    const growth = Math.max(0, newDatabaseBytes - databaseBytes)
    return {
      schema,
      newSchema: migrations.length,
      seconds,
      databaseBytes,
      newDatabaseBytes,
      neededBytes: sizeOf(keptCopyOf(copy, schema)) + logBytes + growth,
      freeBytes: freeAt(dataDir),
    }
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('DATA_DIR_UNUSABLE', `cannot copy ${file}: ${reason}`, { cause })
  } finally {
    remove(copy)
  }
}

function refuseExisting(copy: string): void {
  const taken = [...databaseFiles(copy), ...keptCopies(copy)].find(name => existsSync(name))
  if (taken === undefined) return
  throw new HoldfastError('CONFLICT', `${taken} exists: delete it if a rehearsal left it, or name another directory`)
}

function refuseFullDisk(file: string, scratch: string): void {
  const needed = (sizeOf(file) + sizeOf(`${file}-wal`)) * COPIES
  const free = freeAt(scratch)
  if (free >= needed) return
  throw new HoldfastError(
    'STORAGE_FULL',
    `the rehearsal may need ${needed} bytes in ${scratch}, which has ${free} free`,
  )
}

/** Copies the database of a server that may be running. Returns the version of its schema. */
function copyTo(copy: string, file: string): number {
  const source = new SqliteDatabase(file, { readonly: true, fileMustExist: true })
  try {
    const version = checkSchema(source, file)
    const problem = source.pragma('quick_check(1)', { simple: true })
    if (problem !== 'ok') throw new HoldfastError('DATA_DIR_UNUSABLE', `${file} is damaged: ${String(problem)}`)
    copyInto(source, copy)
    return version
  } finally {
    source.close()
  }
}

function migrate(copy: string): { seconds: number; logBytes: number } {
  const began = systemClock.now()
  const database = new Database(copy)
  const seconds = (systemClock.now() - began) / 1_000
  const logBytes = sizeOf(`${copy}-wal`)
  database.close()
  return { seconds, logBytes }
}

function remove(copy: string): void {
  for (const name of [...databaseFiles(copy), ...keptCopies(copy)]) rmSync(name, { force: true })
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function freeAt(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
