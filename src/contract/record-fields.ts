import { Type } from 'typebox'
import { orNull } from '../config/schema-parts.ts'
import type { DirectoryOutcome, PinRecord } from '../pins/pin-types.ts'
import { bytes, cid, clusterId, count, instant, iso, text } from './answer-fields.ts'
import type { Shown } from './contract-route.ts'

export const state = Type.Enum(['queued', 'pinning', 'pinned', 'failed'])
export const shownName = Type.String({ description: 'its custom, original or own name; its CID where it has none' })

export const meta = Type.Record(text, text, { description: 'what the client keeps with it' })

/** The contract's fields come first here and below. */
export const uploadFields = {
  cid,
  clusterId,
  expiresAt: orNull(instant),
  createdAt: instant,
  status: state,
  uploadId: Type.String({ description: 'of this record; URL-safe' }),
  name: shownName,
  size: Type.Integer({ minimum: 0, description: 'content bytes' }),
  type: Type.Enum(['file', 'directory', 'pin']),
}
export const nameFields = { originalName: orNull(text), customName: orNull(text) }
export const pinFields = {
  ...uploadFields,
  ...nameFields,
  meta,
  pinned: Type.Boolean({ description: 'every block of it is stored and durable' }),
}
export const dagFields = {
  ...uploadFields,
  dagCid: Type.String({ description: 'the same as cid' }),
  filename: text,
  files: Type.Array(Type.Object({ cid, filename: text, size: bytes, path: text }), {
    maxItems: 1_000,
    description: 'the first ones',
  }),
  total_files: count,
  total_size: bytes,
}

export const Upload = Type.Object(uploadFields, { title: 'Upload' })
export const Pin = Type.Object(pinFields, { title: 'Pin' })
export const Dag = Type.Object(dagFields, { title: 'Dag' })

/** Clients declare a name that is always there: what has none is called by its path, or its CID. */
export function shownNameOf({ name, cid }: PinRecord, path: string | null = null): string {
  return name ?? path?.slice(path.lastIndexOf('/') + 1) ?? cid
}

/** The answer to an upload. */
export function presentUpload(record: PinRecord): Shown<typeof Upload> {
  return {
    cid: record.cid,
    clusterId: record.clusterId,
    expiresAt: iso(record.expiresAt),
    createdAt: iso(record.createdAt),
    status: record.status,
    uploadId: record.uploadId,
    name: shownNameOf(record),
    size: record.size,
    type: record.type,
  }
}

export function presentPin(record: PinRecord): Shown<typeof Pin> {
  return {
    ...presentUpload(record),
    pinned: record.status === 'pinned',
    originalName: record.originalName,
    customName: record.customName,
    meta: record.meta,
  }
}

/** The files of a record, in the shape of the answer that made it. */
export function presentDag({ record, files, totalFiles }: DirectoryOutcome): Shown<typeof Dag> {
  return {
    ...presentUpload(record),
    dagCid: record.cid,
    filename: shownNameOf(record),
    files: files.map(({ cid, path, size }) => ({ cid, filename: path.slice(path.lastIndexOf('/') + 1), size, path })),
    total_files: totalFiles,
    total_size: record.size,
  }
}

export type Stored<Shape> = { status: 200; body: Shape } | { status: 201; body: Shape }

/** 201 for a new record, 200 if an identical one was there. */
export function stored<Shape>(created: boolean, body: Shape): Stored<Shape> {
  return { status: created ? 201 : 200, body }
}
