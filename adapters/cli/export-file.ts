import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import type { CarBlock } from '../../src/index.ts'
import { parseCid } from '../../src/ipld/cid.ts'

/** A record in an export. Times are ISO 8601, or null. */
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
  /** Metadata of the record; absent if the server has none. */
  meta?: Readonly<Record<string, string>> | undefined
}

/**
 * A dag-cbor block in the CAR of an export: one before the blocks of each record, and one at the end that proves
 * completeness. All carry the id of the export, so that no content can imitate them.
 */
export type ExportEntry = { record: ExportedRecord } | { end: true; records: number }

interface Stored {
  holdfast: 'export'
  version: 1
  id: string
  entry: ExportEntry
}

/** Largest block that can be an entry. */
const LARGEST_ENTRY = 16 * 1024
/** Most roots in the header; other programs find more by the entries. */
const MOST_ROOTS = 10_000

/** Makes the header of an export. Its roots are those of the records, for other programs that read CARs. */
export function exportHeader(cids: readonly string[]): Uint8Array {
  const roots = [...new Set(cids)].slice(0, MOST_ROOTS).map(cid => parseCid(cid))
  const header = dagCbor.encode({ version: 1, roots })
  return Buffer.concat([varintOf(header.length), header])
}

/** Encodes an entry as a section of a CAR. */
export async function exportEntry(id: string, entry: ExportEntry): Promise<Uint8Array> {
  const stored: Stored = { holdfast: 'export', version: 1, id, entry }
  const bytes = dagCbor.encode(stored)
  const cid = CID.createV1(dagCbor.code, await sha256.digest(bytes))
  return Buffer.concat([varintOf(cid.bytes.length + bytes.length), cid.bytes, bytes])
}

/**
 * Reads the entry in a block; null for any other block.
 *
 * @param id id of the export; null for the first block, which contains it
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
  return holdfast === 'export' && version === 1 && typeof id === 'string' && isEntry(entry)
}

function isEntry(entry: ExportEntry | undefined): boolean {
  if (typeof entry !== 'object' || entry === null) return false
  return 'end' in entry ? typeof entry.records === 'number' : typeof entry.record?.cid === 'string'
}

function varintOf(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}
