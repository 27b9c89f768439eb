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
 * Name of the manifest file. A backup writes it last. Until then the directory contains no backup, or the previous
 * backup is still the current one.
 */
const MANIFEST = 'manifest.json'

const count = Type.Integer({ minimum: 0 })
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const common = {
  /** Version of the program that wrote the backup. */
  version: Type.String(),
  createdAt: Type.String(),
  /**
   * Absolute path of the data directory. Cluster directories inside it have the same relative paths after a restore.
   */
  dataDir: Type.Optional(Type.String()),
  database: Type.Object({ file: Type.String({ pattern: '^database-[0-9a-z]+\\.db$' }), bytes: count, sha256 }),
  /** Number and total size of the blocks that are files. Smaller blocks are in the database. */
  blocks: Type.Object({ count, bytes: count }),
  /** CIDs of the first thousand blocks that the data directory had lost when the backup was made. */
  missing: Type.Array(Type.String()),
}

/** Schema of the manifest of version 0.2.0. This version checked only the size of a block when it added the block. */
const first = Type.Object({ ...common, format: Type.Literal('holdfast-backup-1') })

const second = Type.Object({
  ...common,
  format: Type.Literal('holdfast-backup-2'),
  /** Identity of the data directory. */
  node: Type.String(),
  /** Number of the backup. Each backup into the same directory increments it. */
  sequence: count,
  /** Number of complete roots in the database that had not expired. */
  roots: count,
  /**
   * Path of the directory with the key files, or null for `keys` in the backup. `files` contains the SHA-256 hash of
   * each file.
   */
  keys: Type.Object({ directory: Type.Union([Type.String(), Type.Null()]), files: Type.Record(Type.String(), sha256) }),
  /**
   * When the whole backup was last read, and how many damaged or missing blocks were found; null if the whole backup
   * was never read.
   */
  lastFullRead: Type.Union([Type.Object({ at: Type.String(), damaged: count }), Type.Null()]),
})

/** The manifest format that this version writes. */
export type Manifest = Static<typeof second>
/** The manifest formats that this version reads. */
export type AnyManifest = Manifest | Static<typeof first>

export function manifestPath(directory: string): string {
  return join(directory, MANIFEST)
}

/**
 * Reads the manifest of a backup; null if there is none.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` if the manifest cannot be read or parsed
 */
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

/** Returns the size in bytes and the SHA-256 hash of a file. Reads the file in pieces. */
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
