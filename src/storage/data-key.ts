import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DATA_KEY, QUARANTINE } from '../disk/file-names.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { OWNERS_DIRECTORY, OWNERS_FILE, syncDirectoryNow } from '../disk/node-file-system.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { SEALING_KEY_BYTES, type Sealing, sealingKeyId, sealingWith } from '../domain/sealing.ts'
import type { Database } from './database.ts'

const TEXT = /^[A-Za-z0-9_-]{43}\n?$/
const MISSING = 'is missing'

/**
 * Sealing with the key of a data directory, `data.key`. The key is made once, and the database keeps its name: from
 * then on no other will do, and a missing one is not replaced, since what it sealed could never be opened again.
 * Several processes may open it at the same time.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if it is missing, another directory's, damaged or cannot be read.
 */
export function openDataKey(database: Database, dataDir: string): Sealing {
  return sealingWith(openKey(database, dataDir, null))
}

/**
 * The name of the key of a data directory that shares its catalogue: what it seals there, others have to open.
 *
 * @param expected the name of the key of those others; null if there are none, so that any will do, and one is made
 * @throws HoldfastError `CONFIG_INVALID` if it has another, or none; what {@link openDataKey} throws
 */
export function openFleetKey(database: Database, dataDir: string, expected: string | null): string {
  return sealingKeyId(openKey(database, dataDir, expected))
}

function openKey(database: Database, dataDir: string, expected: string | null): Uint8Array {
  const path = join(dataDir, DATA_KEY)
  // The write lock of the database keeps two processes from making a key each.
  return database.transaction(() => {
    const known = knownKey(database)
    const { key: found, problem } = readKey(path, known)
    const own = known ?? (found === null ? null : sealingKeyId(found))
    if (expected !== null && own !== expected) throw anotherKey(path)
    if (known === null && found === null && problem === MISSING) {
      const made = makeKey(path)
      database.prepare<[string]>('INSERT INTO data_key (id) VALUES (?)').run(sealingKeyId(made))
      return made
    }
    if (found === null) throw unusable(path, problem)
    if (known === null) database.prepare<[string]>('INSERT INTO data_key (id) VALUES (?)').run(sealingKeyId(found))
    return found
  })
}

/**
 * What is wrong with the key of a data directory, in words that follow its name; null if nothing is.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if it cannot be read
 */
export function dataKeyProblem(database: Database, dataDir: string): string | null {
  const known = knownKey(database)
  return known === null ? null : readKey(join(dataDir, DATA_KEY), known).problem
}

/**
 * Makes another key in the place of one that is lost; a file that is in its place is set aside. May be repeated where it
 * was cut short.
 *
 * @param forget drops what the lost one sealed, in the transaction that makes the new one count
 */
export function replaceKeyFile(database: Database, dataDir: string, forget: () => void): void {
  const path = join(dataDir, DATA_KEY)
  database.transaction(() => {
    if (existsSync(path)) {
      const aside = join(dataDir, QUARANTINE, `${DATA_KEY}-${randomUUID()}`)
      makeDirectory(dirname(aside), OWNERS_DIRECTORY)
      renameSync(path, aside)
    }
    const key = makeKey(path)
    forget()
    database.prepare<[string]>('UPDATE data_key SET id = ?').run(sealingKeyId(key))
  })
}

function knownKey(database: Database): string | null {
  return database.prepare<[], { id: string }>('SELECT id FROM data_key').get()?.id ?? null
}

type FoundKey = { key: Uint8Array; problem: null } | { key: null; problem: string }

/** @param known the key that it has to be; null for any */
function readKey(path: string, known: string | null): FoundKey {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (fileErrorCode(cause) === 'ENOENT') return { key: null, problem: MISSING }
    throw unusable(path, 'cannot be read', cause)
  }
  if (!TEXT.test(text)) return { key: null, problem: 'is damaged' }
  const key = Buffer.from(text, 'base64url')
  if (known !== null && sealingKeyId(key) !== known)
    return { key: null, problem: 'is not the key of this data directory' }
  return { key, problem: null }
}

/** The file is there whole or not at all, and on the disk before anything is sealed with it. */
function makeKey(path: string): Uint8Array {
  const key = randomBytes(SEALING_KEY_BYTES)
  const temporary = `${path}.new`
  try {
    rmSync(temporary, { force: true })
    const file = openSync(temporary, 'wx', OWNERS_FILE)
    try {
      fchmodSync(file, OWNERS_FILE)
      writeSync(file, `${key.toString('base64url')}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
    syncDirectoryNow(dirname(path))
  } catch (cause) {
    throw unusable(path, 'cannot be written', cause)
  }
  return key
}

function anotherKey(path: string): HoldfastError {
  return new HoldfastError(
    'CONFIG_INVALID',
    `database: what its nodes seal there, all of them open by one data.key: copy that of another node to ${path} before the first start`,
  )
}

function unusable(path: string, problem: string, cause?: unknown): HoldfastError {
  const remedy =
    'second factors, secrets of webhooks and the identity of the node were sealed with it; bring it back from a backup, or give them up by the command data-key replace'
  return new HoldfastError('DATA_DIR_UNUSABLE', `${path} ${problem}: ${remedy}`, { cause })
}
