import { Type } from 'typebox'
import { orNull } from '../config/schema-parts.ts'
import { iso } from '../domain/iso-instant.ts'
import { VISIBILITIES } from '../domain/visibility.ts'
import type { DirectoryOutcome, PinRecord } from '../pins/pin-types.ts'
import { bytes, cid, clusterId, count, describedCount, instant, text } from './answer-fields.ts'
import type { Shown } from './contract-route.ts'
import type { Services } from './services.ts'

export const state = Type.Enum(['queued', 'pinning', 'pinned', 'failed'])
export const shownName = Type.String({ description: 'the custom, original or own name; the CID without one' })

/** Absent for the default of the account. The pin service refuses other values. */
export const optionalVisibility = Type.Optional(
  Type.String({ description: '`public` or `private`. Empty counts as absent: the default of the account.' }),
)

export const meta = Type.Record(text, text, { description: "the client's metadata" })

/** All these fields are part of the API contract. */
export const uploadFields = {
  cid,
  clusterId,
  expiresAt: orNull(instant),
  createdAt: instant,
  status: state,
  uploadId: Type.String({ description: 'id of this record; URL-safe' }),
  name: shownName,
  size: describedCount('content bytes'),
  type: Type.Enum(['file', 'directory', 'pin']),
  visibility: Type.Enum([...VISIBILITIES], {
    description: 'only its account may read the content of a private record',
  }),
  publicElsewhere: Type.Optional(
    Type.Literal(true, { description: 'another record keeps the content of this private one public' }),
  ),
  disputed: Type.Optional(
    Type.Enum([...VISIBILITIES], {
      description:
        'the database said this of the private record, and its node the other; only with `visibility=disputed`',
    }),
  ),
  copies: Type.Optional(
    Type.Object(
      { wanted: count, have: count },
      { description: 'number of nodes; only in an answer 201, for a cluster that wants several copies' },
    ),
  ),
}
/** Fields of an uploaded record. */
export const uploadedFields = {
  ...uploadFields,
  url: Type.Optional(Type.String({ description: 'link to public content at the first gateway of its cluster' })),
}
export const nameFields = { originalName: orNull(text), customName: orNull(text) }
export const pinFields = {
  ...uploadFields,
  ...nameFields,
  meta,
  pinned: Type.Boolean({ description: 'true if every block is stored and durable' }),
}
export const DagFileView = Type.Object({
  cid,
  filename: Type.String({ description: 'last name of the path' }),
  size: bytes,
  path: Type.String({ description: 'path below the root of the directory, with `/` between names' }),
})
export const dagFields = {
  ...uploadFields,
  dagCid: Type.String({ description: 'the same as cid' }),
  filename: text,
  files: Type.Array(DagFileView, {
    maxItems: 1_000,
    description: 'the first ones',
  }),
  total_files: count,
  total_size: bytes,
}

export const Upload = Type.Object(uploadedFields, { title: 'Upload' })
export const Pin = Type.Object(pinFields, { title: 'Pin' })
export const Dag = Type.Object(dagFields, { title: 'Dag' })

/** Returns a display name, because clients require a name for every record. */
export function shownNameOf({ name, cid }: PinRecord, path: string | null = null): string {
  return name ?? path?.slice(path.lastIndexOf('/') + 1) ?? cid
}

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
    visibility: record.visibility,
    ...(record.publicElsewhere && { publicElsewhere: true as const }),
    ...(record.disputed && { disputed: record.disputed }),
    ...(record.copies && { copies: record.copies }),
  }
}

export function presentUploaded(
  record: PinRecord,
  clusters: Pick<Services['clusters'], 'urlOf'>,
): Shown<typeof Upload> {
  return { ...presentUpload(record), ...linkTo(record, clusters) }
}

/** Returns no link to private content, because a gateway serves it to nobody. */
export function linkTo(record: PinRecord, clusters: Pick<Services['clusters'], 'urlOf'>): { url?: string } {
  return record.visibility === 'public' ? { url: clusters.urlOf(record) } : {}
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

/** Returns status 201 for a new record, or 200 if an identical record already existed. */
export function stored<Shape>(created: boolean, body: Shape): Stored<Shape> {
  return { status: created ? 201 : 200, body }
}
