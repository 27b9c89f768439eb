import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import { Value } from 'typebox/value'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'

/** The file that is written last: without it there is no backup, or the one before is still the newest. */
const MANIFEST = 'manifest.json'

const schema = Type.Object({
  format: Type.Literal('holdfast-backup-1'),
  /** Of the program that made it. */
  version: Type.String(),
  createdAt: Type.String(),
  /** Absolute: directories of clusters that lie in it keep their places. */
  dataDir: Type.Optional(Type.String()),
  database: Type.Object({
    file: Type.String({ pattern: '^database-[0-9a-z]+\\.db$' }),
    bytes: Type.Integer({ minimum: 0 }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  /** Those that are files; smaller ones are in the database. */
  blocks: Type.Object({ count: Type.Integer({ minimum: 0 }), bytes: Type.Integer({ minimum: 0 }) }),
  /** CIDs of blocks that the store had lost when the backup was made, the first thousand. */
  missing: Type.Array(Type.String()),
})

/** What a backup says of itself. */
export type Manifest = Static<typeof schema>

export function manifestPath(directory: string): string {
  return join(directory, MANIFEST)
}

/** Null where there is none. @throws HoldfastError `BACKUP_UNUSABLE` for one that cannot be read or is none of ours */
export async function readManifest(directory: string): Promise<Manifest | null> {
  let text: string
  try {
    text = await readFile(manifestPath(directory), 'utf8')
  } catch (cause) {
    if (fileErrorCode(cause) === 'ENOENT') return null
    throw unusable(directory, 'its manifest cannot be read', cause)
  }
  try {
    return Value.Parse(schema, JSON.parse(text))
  } catch (cause) {
    throw unusable(directory, 'its manifest is damaged, or of another version', cause)
  }
}

export function unusable(directory: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('BACKUP_UNUSABLE', `the backup in ${directory} cannot be used: ${problem}`, { cause })
}

/** Bytes and SHA-256 of a file, read in pieces. */
export async function measure(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(piece)
    bytes += piece.length
  }
  return { bytes, sha256: hash.digest('hex') }
}
