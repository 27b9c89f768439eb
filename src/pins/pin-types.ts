import type { CID } from 'multiformats/cid'
import type { UploadGrant } from '../access/principal.ts'
import type { UndoEnd } from '../catalogue/bulk-changes.ts'
import type { NameMatch } from '../catalogue/records.ts'
import type { PendingNode } from '../domain/pending-nodes.ts'
import type { PinStatus } from '../domain/pin-status.ts'
import type { ByteSource } from '../domain/sources.ts'
import type { Adoption, Visibility, VisibilityFilter } from '../domain/visibility.ts'

export type { Adoption, ByteSource, NameMatch, PinStatus, Visibility, VisibilityFilter }
/** Origin of the content: an uploaded file, an uploaded directory, or a CID. */
export type PinType = 'file' | 'directory' | 'pin'

/** Record of one upload or pin of an account. Times are milliseconds since the epoch, sizes are bytes. */
export interface PinRecord {
  /** Unguessable, URL-safe id of the record. */
  uploadId: string
  accountId: string
  clusterId: string
  /** CID as the client wrote it, or as this node computed it from an upload. */
  cid: string
  type: PinType
  status: PinStatus
  /** Name to show: the custom name, or else the original name, or else the file name of the upload. */
  name: string | null
  originalName: string | null
  customName: string | null
  meta: Readonly<Record<string, string>>
  /** Only its account may read the content of a private record. */
  visibility: Visibility
  /**
   * True if another record keeps the content of a private record public. Only in answers of uploads, pins and changes of
   * the visibility.
   */
  publicElsewhere?: true
  /** The catalogue's word on this private record, in a list of disputed records. The node said the other. */
  disputed?: Visibility
  /**
   * How many nodes should have the content, and how many have it. Only in the answer to a new upload or pin of a cluster
   * that wants several copies.
   */
  copies?: { wanted: number; have: number }
  /** Size of the file, or total size of all files in the directory. */
  size: number
  /** Total size of all distinct blocks. For quotas, each block counts as at least 512 bytes. */
  dagSize: number
  /** Instant from which the record no longer exists. Null if the record never expires. */
  expiresAt: number | null
  createdAt: number
}

/** File in a directory. `cid` has the canonical form of CID version 1. */
export interface DagFile {
  /** Path of the file below the root, with `/` between names. */
  path: string
  cid: string
  size: number
}

/** Cluster, expiry and visibility that a request asks for. Undefined and empty values mean the default. */
export interface PinTarget {
  cluster?: string | undefined
  /** Instant at which the record expires: an RFC 3339 date-time or a `Date`. */
  timelock?: string | Date | undefined
  /** `public` or `private`. */
  visibility?: string | undefined
  /** Default `share`, and `public` with an upload token. */
  adopts?: Adoption | undefined
  /** True if another node forwarded the request. The cluster must then be on this node, to prevent loops. */
  fromNode?: boolean | undefined
}

/** Names and metadata of a record. */
export interface PinNames {
  /** Name of the uploaded file or directory. */
  name?: string | undefined
  originalName?: string | undefined
  customName?: string | undefined
  /** At most 64 keys, and at most 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** Upload token that authorizes an upload. */
export interface UploadToken extends UploadGrant {
  /** Id of the API key that is the upload token. */
  id: string
}

/** Account, target and names of an upload. */
export interface UploadOptions extends PinTarget, PinNames {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
  /**
   * Called once, after the content has been read, for form fields that follow the file. Returned values override the
   * options of the same name.
   */
  late?: (() => Promise<PinTarget & PinNames>) | undefined
  /**
   * Expected size of the content in bytes. If the size exceeds the limit, the upload is refused before the content is
   * read.
   */
  expectedBytes?: number | undefined
  /** Aborts the upload with `ABORTED`. Nothing is stored. */
  signal?: AbortSignal | undefined
  /** The upload counts as one use of the token, and the limits of the token apply. */
  token?: UploadToken | undefined
  /** Called with the number of content bytes read so far. */
  onProgress?: ((bytes: number) => void) | undefined
}

/** Record that a request created or found. */
export interface PinOutcome {
  record: PinRecord
  /** False if the account already had an identical live record. */
  created: boolean
}

export const LISTED_FILES = 1_000

/** Record of a directory, and its first 1,000 files. */
export interface DirectoryOutcome extends PinOutcome {
  files: DagFile[]
  totalFiles: number
}

/** Options of a CAR import. */
export interface CarImportOptions extends UploadOptions {
  /**
   * Accepts roots with missing blocks as `failed` records, which a later fetch may complete. Only for plans without a
   * storage limit, because missing blocks cannot be counted.
   */
  allowPartial?: boolean | undefined
}

/** Root of a CAR, and its record. */
export interface CarRoot extends PinOutcome {
  /** Number of missing blocks, and the CID of the first missing block. */
  missing: { blocks: number; first: string } | null
}

/** Outcome of a CAR import. `record` belongs to the first root. `created` is true if any of the records is new. */
export interface CarOutcome extends PinOutcome {
  roots: CarRoot[]
}

/** Complete upload to a cluster that another node keeps. */
export interface ForwardedUpload<Piece> {
  node: string
  /** Reading the content to its end releases the quota reservation. */
  content: AsyncIterable<Piece>
  signal: AbortSignal
}

/** Sends an upload to another node and returns the outcome. The staged DAG is deleted afterwards. */
export type HandOver<Piece, T> = (staged: ForwardedUpload<Piece>) => Promise<T>

/** Request to pin content by its CID. */
export interface PinRequest extends PinTarget, PinNames {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
  cid: string
  /** Providers to ask first: multiaddrs that end in `/p2p/<id>`, or URLs of trustless gateways. */
  origins?: readonly string[] | undefined
  /** True to answer immediately with a `queued` record and to fetch the content in the background. */
  respondAsync?: boolean | undefined
  /**
   * True to create a new record even if the account has an identical one. The record is `queued`, and fetched without
   * a search first, unless the cluster has the content on this node.
   */
  isAnew?: boolean | undefined
  /** Called with the number and size in bytes of the distinct blocks fetched so far. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Filters of a list. A record must match all given filters. */
export interface ListQuery {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
  /** Page number, starting at 1. */
  page?: number | undefined
  /** Maximum number of items per page. The plan may lower this number. */
  limit?: number | undefined
  cid?: string | undefined
  /** At most 10 CIDs. */
  cids?: readonly string[] | undefined
  /** Lists the files below this root instead of records. */
  parentCid?: string | undefined
  /** Lists only records that expire. */
  hasExpiration?: boolean | undefined
  /** Text that the stored name must contain. Case is ignored. */
  q?: string | undefined
  /** Name to compare with the stored name, as `match` says. The default of `match` is `exact`. */
  name?: string | undefined
  match?: NameMatch | undefined
  /** Lists only records that have all of these keys with these values. */
  meta?: Readonly<Record<string, string>> | undefined
  type?: PinType | readonly PinType[] | undefined
  status?: PinStatus | readonly PinStatus[] | undefined
  /** With `disputed`, the records that catalogue and node called differently, until their visibility is set. */
  visibility?: VisibilityFilter | undefined
  /**
   * Lists only records created strictly before or strictly after this instant: a `Date`, an RFC 3339 date-time, or
   * milliseconds since the epoch.
   */
  before?: Date | string | number | undefined
  after?: Date | string | number | undefined
  /**
   * Order by creation time, by name or by size. A minus reverses the order. By name and size, the list must have at most
   * 10,000 records. Default `newest`.
   */
  sort?: 'newest' | 'oldest' | 'name' | '-name' | 'size' | '-size' | undefined
}

/** Filters of a list that is returned without pages. */
export type WholeListQuery = Omit<ListQuery, 'page' | 'limit'>

/** Selects the records of one account with this CID. */
export interface CidRequest {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
  cid: string
  /** Selects only records in this cluster. */
  cluster?: string | undefined
}

/** Further fields of a call that names its CID first. */
export type CidOptions = Omit<CidRequest, 'cid'>

/** Selects one record of an account. */
export interface RecordRequest {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
  uploadId: string
}

/** New name or metadata of a record. An undefined value leaves the stored value unchanged. */
export interface RenameRequest extends RecordRequest {
  name?: string | undefined
  /** Replaces all stored metadata. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** A record after a change of its visibility. `pending` names nodes and threads that may still serve its content. */
export type VisibilityOutcome = PinRecord & { pending: readonly PendingNode[] }

/** New visibility of a record. */
export interface VisibilityRequest extends RecordRequest {
  visibility: Visibility
}

/** Item of a list: a record, or a file below the root of a record. `path` and `parentCid` are null for a record. */
export interface ListItem extends PinRecord {
  parentCid: string | null
  path: string | null
}

/** Page of a list. */
export interface ListPage {
  items: ListItem[]
  /** Number of items on all pages. */
  total: number
  /** True if `total` is only a lower bound, because a search by name or metadata has over 10,000 matches. */
  totalIsLowerBound?: true
  page: number
  /** Requested number of items per page, lowered to the limit of the plan. */
  limit: number
  totalPages: number
}

/** Storage that an account uses. */
export interface Usage {
  /** Number of live records. */
  pins: number
  /** Total size in bytes of all distinct DAGs. Each block counts as at least 512 bytes. */
  storedBytes: number
  /** Total size in bytes of all distinct DAGs that only deleted records name, in their undo period. */
  keptBytes: number
}

/** Events that `engine.events` emits. */
export interface EngineEvents {
  /** A record was created, in any status. */
  'pin:created': { record: PinRecord }
  /** The status of an existing record changed. `from` is the previous status. */
  'pin:status': { record: PinRecord; from: PinStatus; reason: string | null }
  'pin:removed': { record: PinRecord; reason: 'deleted' | 'expired' }
  /** The undo period of a deletion ended early. `job` is the id of the job, and `reason` its `undoEnded`. */
  'undo:ended': { account: string; job: string; reason: UndoEnd }
  /** A read or a verification found a damaged block. */
  'block:damaged': { cid: CID; reason: string }
  /** The bytes of a damaged block are correct again. */
  'block:healed': { cid: CID }
  /** Garbage collection has deleted this number of roots and blocks. `bytes` is the size of the blocks. */
  collected: { roots: number; blocks: number; bytes: number }
}
