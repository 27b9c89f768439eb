import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import type { CarBlock } from '../../src/index.ts'
import { parseCid } from '../../src/ipld/cid.ts'

/** A record as an export keeps it. Times are ISO 8601, null for what there is none of. */
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
  /** What was kept with it; absent in exports of servers that keep none. */
  meta?: Readonly<Record<string, string>> | undefined
}

/**
 * What stands between the contents of an export, which is a CAR: a block of dag-cbor before the blocks of each record,
 * and one at the end, so that an export that was cut short is known as such. All of one export carry its id, so that no
 * content can pass for one of them.
 */
export type ExportEntry = { record: ExportedRecord } | { end: true; records: number }

interface Stored {
  holdfast: 'export'
  version: 1
  id: string
  entry: ExportEntry
}

/** Larger blocks are no entries. */
const LARGEST_ENTRY = 16 * 1024
/** Roots that the header names; other programs find further ones by the entries. */
const MOST_ROOTS = 10_000

/** The beginning of an export; its roots are those of the records, for other programs that read CARs. */
export function exportHeader(cids: readonly string[]): Uint8Array {
  const roots = [...new Set(cids)].slice(0, MOST_ROOTS).map(cid => parseCid(cid))
  const header = dagCbor.encode({ version: 1, roots })
  return Buffer.concat([varintOf(header.length), header])
}

/** An entry as a section of a CAR. */
export async function exportEntry(id: string, entry: ExportEntry): Promise<Uint8Array> {
  const stored: Stored = { holdfast: 'export', version: 1, id, entry }
  const bytes = dagCbor.encode(stored)
  const cid = CID.createV1(dagCbor.code, await sha256.digest(bytes))
  return Buffer.concat([varintOf(cid.bytes.length + bytes.length), cid.bytes, bytes])
}

/**
 * The entry that a block is; null for any other block.
 *
 * @param id of the export; null for the first block, which tells it
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
