import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { Pace } from '../concurrency/pace.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'

/**
 * Name of the file that is written last. Without it there is no backup, or the former backup is still the current one.
 */
const MANIFEST = 'manifest.json'

const count = Type.Integer({ minimum: 0 })
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const common = {
  /** Version of the program that wrote the backup. */
  version: Type.String(),
  createdAt: Type.String(),
  /** Absolute. Directories of clusters inside it keep their relative paths. */
  dataDir: Type.Optional(Type.String()),
  database: Type.Object({ file: Type.String({ pattern: '^database-[0-9a-z]+\\.db$' }), bytes: count, sha256 }),
  /** Blocks with files; smaller ones are in the database. */
  blocks: Type.Object({ count, bytes: count }),
  /** CIDs of blocks that the store had lost at the time of the backup, the first thousand. */
  missing: Type.Array(Type.String()),
}

/** Manifest of 0.2.0, which checked only the size of blocks on entry. */
const first = Type.Object({ ...common, format: Type.Literal('holdfast-backup-1') })

const second = Type.Object({
  ...common,
  format: Type.Literal('holdfast-backup-2'),
  /** Identity of the data directory. */
  node: Type.String(),
  /** Incremented by each backup into this directory. */
  sequence: count,
  /** Complete roots in the database that had not expired. */
  roots: count,
  /** SHA-256 of each key file by name, and their directory; null for `keys` in the backup. */
  keys: Type.Object({ directory: Type.Union([Type.String(), Type.Null()]), files: Type.Record(Type.String(), sha256) }),
  /** Time of the last full read, and the number of damaged or missing blocks it found; null for none. */
  lastFullRead: Type.Union([Type.Object({ at: Type.String(), damaged: count }), Type.Null()]),
})

/** The manifest that this version writes. */
export type Manifest = Static<typeof second>
/** Any manifest that this version reads. */
export type AnyManifest = Manifest | Static<typeof first>

export function manifestPath(directory: string): string {
  return join(directory, MANIFEST)
}

/** Returns null if there is no manifest. @throws HoldfastError `BACKUP_UNUSABLE` if it cannot be read or parsed */
export async function readManifest(directory: string): Promise<AnyManifest | null> {
  let text: string
  try {
    text = await readFile(manifestPath(directory), 'utf8')
  } catch (cause) {
    if (fileErrorCode(cause) === 'ENOENT') return null
    throw unusable(directory, 'its manifest cannot be read', cause)
  }
  try {
    return Value.Parse(Type.Union([first, second]), JSON.parse(text))
  } catch (cause) {
    throw unusable(directory, 'its manifest is damaged, or of another version', cause)
  }
}

export function unusable(directory: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('BACKUP_UNUSABLE', `the backup in ${directory} cannot be used: ${problem}`, { cause })
}

/** Returns bytes and SHA-256 of a file, which it reads in pieces. */
export async function measure(path: string, pace: Pace | null = null): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(piece)
    bytes += piece.length
    await pace?.spend(piece.length)
  }
  return { bytes, sha256: hash.digest('hex') }
}
