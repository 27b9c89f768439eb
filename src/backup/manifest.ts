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
 * A backup writes the manifest last. Until then the directory contains no backup, or the previous backup is still the
 * current one.
 */
export const MANIFEST = 'manifest.json'

const count = Type.Integer({ minimum: 0 })
/** Name of a copied database. */
export const databaseFile = Type.String({ pattern: '^database-[0-9a-z]+\\.db$' })
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const common = {
  version: Type.String(),
  createdAt: Type.String(),
  /**
   * Absolute path of the data directory. Cluster directories inside it have the same relative paths after a restore.
   */
  dataDir: Type.Optional(Type.String()),
  database: Type.Object({ file: databaseFile, bytes: count, sha256 }),
  /** All blocks, in files and in the database. Up to version 0.3.0, only those in files. */
  blocks: Type.Object({ count, bytes: count }),
  /** CIDs of the first thousand blocks that the data directory had lost. */
  missing: Type.Array(Type.String()),
}

/** Manifest of version 0.2.0, which checked only the size of a block when it added the block. */
const first = Type.Object({ ...common, format: Type.Literal('holdfast-backup-1') })

const second = Type.Object({
  ...common,
  /** The third format is that of a backup with private content, which version 0.3.0 would serve to everybody. */
  format: Type.Union([Type.Literal('holdfast-backup-2'), Type.Literal('holdfast-backup-3')]),
  node: Type.String(),
  /** Incremented by each backup into the same directory. */
  sequence: count,
  /** Complete roots that had not expired. */
  roots: count,
  /** Path of the key files, or null for `keys` in the backup. `files` contains their SHA-256 hashes. */
  keys: Type.Object({ directory: Type.Union([Type.String(), Type.Null()]), files: Type.Record(Type.String(), sha256) }),
  /** When the whole backup was last read, and how many damaged or missing blocks were found; null if never. */
  lastFullRead: Type.Union([Type.Object({ at: Type.String(), damaged: count }), Type.Null()]),
})

export type Manifest = Static<typeof second>
/** The manifest formats that this version reads. */
export type AnyManifest = Manifest | Static<typeof first>

export function manifestPath(directory: string): string {
  return join(directory, MANIFEST)
}

/** @throws HoldfastError `BACKUP_UNUSABLE` if the manifest cannot be read or parsed */
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

/** Problem of a directory without a finished backup. */
export const NO_MANIFEST = 'it has no manifest: name the directory of a finished backup'

export function unusable(directory: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('BACKUP_UNUSABLE', `the backup in ${directory} cannot be used: ${problem}`, { cause })
}

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
