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
 * Opens the sealing key `data.key`. The first call creates the key. Later calls accept only this key, whose id is in
 * the database.
 * A missing key is not replaced, because a new key could not open the existing secrets.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if the key of the directory is missing or unusable
 */
export function openDataKey(database: Database, dataDir: string): Sealing {
  return sealingWith(openKey(database, dataDir, null))
}

/**
 * Returns the id of the sealing key of a data directory whose catalogue is shared. All nodes have the same key.
 *
 * @param expected id of the key of the other nodes; null to accept any key and to create a missing key
 * @throws HoldfastError `CONFIG_INVALID` if the key is missing or is a different key
 */
export function openFleetKey(database: Database, dataDir: string, expected: string | null): string {
  return sealingKeyId(openKey(database, dataDir, expected))
}

function openKey(database: Database, dataDir: string, expected: string | null): Uint8Array {
  const path = join(dataDir, DATA_KEY)
  // The write lock of the database prevents two processes from creating two different keys.
  return database.transaction(() => {
    const known = knownKey(database)
    const key = presentKey(path, known, expected) ?? makeKey(path)
    if (known === null) database.prepare<[string]>('INSERT INTO data_key (id) VALUES (?)').run(sealingKeyId(key))
    return key
  })
}

/** Refuses the key as {@link openDataKey} and {@link openFleetKey} do, but creates none. @throws HoldfastError as they do */
export function checkDataKey(database: Database, dataDir: string, expected: string | null = null): void {
  presentKey(join(dataDir, DATA_KEY), knownKey(database), expected)
}

/** Returns null if the key does not exist yet and may be created. */
function presentKey(path: string, known: string | null, expected: string | null): Uint8Array | null {
  const { key, problem } = readKey(path, known)
  const own = known ?? (key === null ? null : sealingKeyId(key))
  if (expected !== null && own !== expected) throw anotherKey(path)
  if (key !== null) return key
  if (known === null && problem === MISSING) return null
  throw unusable(path, problem)
}

/** Returns the problem of the key, such as "is missing"; null if the key has no problem. */
export function dataKeyProblem(database: Database, dataDir: string): string | null {
  const known = knownKey(database)
  return known === null ? null : readKey(join(dataDir, DATA_KEY), known).problem
}

/**
 * Creates a new key after the old key was lost. Moves a damaged key file to quarantine. The next call completes an
 * interrupted call.
 *
 * @param forget deletes the secrets sealed with the old key, in the transaction that stores the id of the new key
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

/** @param known id of the expected key; null to accept any key */
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

/** Creates the key file atomically, and syncs the file before the key seals anything. */
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
    `database: all nodes of a catalogue need the same data.key: copy data.key of another node to ${path} before the first start`,
  )
}

function unusable(path: string, problem: string, cause?: unknown): HoldfastError {
  const remedy =
    'it seals the secrets of accounts and the identity of the node; restore it from a backup, or discard them with "holdfast data-key replace"'
  return new HoldfastError('DATA_DIR_UNUSABLE', `${path} ${problem}: ${remedy}`, { cause })
}
