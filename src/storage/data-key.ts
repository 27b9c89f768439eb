import { randomBytes } from 'node:crypto'
import { closeSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DATA_KEY } from '../disk/file-names.ts'
import { OWNERS_FILE, syncDirectoryNow } from '../disk/file-system.ts'
import { HoldfastError } from '../domain/errors.ts'
import { SEALING_KEY_BYTES, type Sealing, sealingKeyId, sealingWith } from '../domain/sealing.ts'
import type { Database } from './database.ts'

const TEXT = /^[A-Za-z0-9_-]{43}\n?$/

/**
 * Sealing with the key of a data directory, `data.key`. The key is made once, and the database keeps its name: from
 * then on no other will do, and a missing one is not replaced, since what it sealed could never be opened again.
 * Several processes may open it at the same time.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if it is missing, another directory's, damaged or cannot be read.
 */
export function openDataKey(database: Database, dataDir: string): Sealing {
  const path = join(dataDir, DATA_KEY)
  // The write lock of the database keeps two processes from making a key each.
  const key = database.transaction(() => {
    const known = database.prepare<[], { id: string }>('SELECT id FROM data_key').get()
    const found = readKey(path)
    if (known === undefined) {
      const key = found ?? makeKey(path)
      database.prepare<[string]>('INSERT INTO data_key (id) VALUES (?)').run(sealingKeyId(key))
      return key
    }
    if (found === null) throw unusable(path, 'is missing')
    if (sealingKeyId(found) !== known.id) throw unusable(path, 'is not the key of this data directory')
    return found
  })
  return sealingWith(key)
}

function readKey(path: string): Uint8Array | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw unusable(path, 'cannot be read', cause)
  }
  if (!TEXT.test(text)) throw unusable(path, 'is damaged')
  return Buffer.from(text, 'base64url')
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

function unusable(path: string, problem: string, cause?: unknown): HoldfastError {
  const remedy = 'second factors and the identity of the node were sealed with it; bring it back from a backup'
  return new HoldfastError('DATA_DIR_UNUSABLE', `${path} ${problem}: ${remedy}`, { cause })
}
