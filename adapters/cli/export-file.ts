import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import type { CarBlock } from '../../src/index.ts'
import { parseCid } from '../../src/ipld/cid.ts'

/** A record in an export. Times are in ISO 8601. */
export interface ExportedRecord {
  cid: string
  type: string
  status: string
  clusterId: string
  name: string | null
  originalName: string | null
  customName: string | null
  expiresAt: string | null
  createdAt: string
  /** Missing if the server does not support private records. */
  visibility?: 'public' | 'private' | undefined
  /** Missing if the server does not support metadata. */
  meta?: Readonly<Record<string, string>> | undefined
}

/**
 * An entry of an export, stored as a dag-cbor block in the CAR before the blocks of its record. The last entry proves
 * that the export is complete. Each entry contains the id of the export, so that content cannot imitate an entry.
 */
export type ExportEntry = { record: ExportedRecord } | { end: true; records: number; hasPrivate?: boolean }

interface Stored {
  holdfast: 'export'
  /** 2 for the end of an export with private records, so that earlier versions, which would publish them, refuse it. */
  version: 1 | 2
  id: string
  entry: ExportEntry
}

/** Maximum size in bytes of a block that can be an entry. */
const LARGEST_ENTRY = 16 * 1024
/** Maximum number of roots in the header. `import` reads the entries and needs no roots. */
const MOST_ROOTS = 10_000

/** Builds the header of an export. Other programs need its roots to read the CAR. */
export function exportHeader(cids: readonly string[]): Uint8Array {
  const roots = [...new Set(cids)].slice(0, MOST_ROOTS).map(cid => parseCid(cid))
  const header = dagCbor.encode({ version: 1, roots })
  return Buffer.concat([varintOf(header.length), header])
}

export async function exportEntry(id: string, entry: ExportEntry): Promise<Uint8Array> {
  const version = 'end' in entry && entry.hasPrivate === true ? 2 : 1
  const stored: Stored = { holdfast: 'export', version, id, entry }
  const bytes = dagCbor.encode(stored)
  const cid = CID.createV1(dagCbor.code, await sha256.digest(bytes))
  return Buffer.concat([varintOf(cid.bytes.length + bytes.length), cid.bytes, bytes])
}

/**
 * Decodes an entry. Returns null if the block is not an entry of this export.
 * @param id id of the export; null for the first block of the file, which defines the id
 */
export function readEntry({ cid, bytes }: CarBlock, id: string | null): { id: string; entry: ExportEntry } | null {
  if (cid.code !== dagCbor.code || bytes.length > LARGEST_ENTRY) return null
  let value: unknown
  try {
    value = dagCbor.decode(bytes)
  } catch {
    return null
  }
  if (!isStored(value) || (id !== null && value.id !== id)) return null
  return { id: value.id, entry: value.entry }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== 'object' || value === null) return false
  const { holdfast, version, id, entry } = value as Partial<Stored>
  return holdfast === 'export' && (version === 1 || version === 2) && typeof id === 'string' && isEntry(entry)
}

function isEntry(entry: ExportEntry | undefined): boolean {
  if (typeof entry !== 'object' || entry === null) return false
  return 'end' in entry ? typeof entry.records === 'number' : typeof entry.record?.cid === 'string'
}

function varintOf(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}
