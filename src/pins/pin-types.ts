import type { CID } from 'multiformats/cid'
import type { Account, UploadGrant } from '../access/principal.ts'
import type { NameMatch } from '../catalogue/records.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import type { PinStatus } from '../domain/pin-status.ts'
import type { Plan } from '../domain/plan.ts'
import type { ByteSource } from '../domain/sources.ts'

export type { ByteSource, NameMatch, PinStatus }
/** Origin of the content: an uploaded file, an uploaded directory, or a CID. */
export type PinType = 'file' | 'directory' | 'pin'

/** Record of one upload or pin of an account. Times are milliseconds since the epoch, sizes are bytes. */
export interface PinRecord {
  /** URL-safe id. */
  uploadId: string
  accountId: string
  clusterId: string
  /** As the client wrote it, or as the upload computed it. */
  cid: string
  type: PinType
  status: PinStatus
  /** Name to show: the custom name, else the original name, else the upload's own name. */
  name: string | null
  originalName: string | null
  customName: string | null
  /** Metadata of the client; an empty object if there is none. */
  meta: Readonly<Record<string, string>>
  /** Size of the file, or of all files in the directory. */
  size: number
  /** Sum of all distinct blocks. Quotas count it, with at least 512 bytes for each block. */
  dagSize: number
  /** Instant from which the record no longer exists; null if it never expires. */
  expiresAt: number | null
  createdAt: number
}

/** File in a directory. `cid` is in canonical version 1 form. */
export interface DagFile {
  /** Path below the root, with `/` between names. */
  path: string
  cid: string
  /** Bytes of the file. */
  size: number
}

/** Cluster and expiry of a request. Unset and empty values mean the default. */
export interface PinTarget {
  /** Id of the cluster. */
  cluster?: string | undefined
  /** Instant at which the record expires: an RFC 3339 date-time or a `Date`. */
  timelock?: string | Date | undefined
  /** True if another node forwarded the request. It must be kept on this node, so that requests cannot loop. */
  fromNode?: boolean | undefined
}

/** Names and metadata of a record. */
export interface PinNames {
  /** Name of the uploaded file or directory. */
  name?: string | undefined
  originalName?: string | undefined
  customName?: string | undefined
  /** Metadata to store and search by: at most 64 keys, 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** Upload token that authorizes an upload. */
export interface UploadToken extends UploadGrant {
  /** Id of the token's API key. */
  id: string
}

/** Account, target and names of an upload. */
export interface UploadOptions extends PinTarget, PinNames {
  /** Account id. Default: the owner, if `singleUser` is set. */
  account?: string | undefined
  /**
   * Called once, after the content has been read. Returns target and names from form fields that follow the file. They
   * override the options of the same name.
   */
  late?: (() => Promise<PinTarget & PinNames>) | undefined
  /** Expected content bytes, such as from `Content-Length`. Lets a size limit refuse the upload before it is read. */
  expectedBytes?: number | undefined
  /** Aborting it ends the upload with `ABORTED`, and nothing is stored. */
  signal?: AbortSignal | undefined
  /** Upload token that authorizes the upload. The upload counts as one use, and the token's limits apply. */
  token?: UploadToken | undefined
  /** Called with the content bytes read so far. */
  onProgress?: ((bytes: number) => void) | undefined
}

/**
 * Entry of a directory to upload. Paths are relative, with `/` between names. The content of an entry is read to its
 * end before the next entry is requested.
 */
export type DirectoryEntry =
  /** A function returns the path after the content is read, for forms that send it later. */
  | { kind: 'file'; path: string | (() => string); content: ByteSource }
  | { kind: 'directory'; path: string }
  | { kind: 'symlink'; path: string; target: string }

/** Entries of a directory, in any order. */
export type DirectoryEntries = AsyncIterable<DirectoryEntry> | Iterable<DirectoryEntry>

/** Record that a request created or found. */
export interface PinOutcome {
  record: PinRecord
  /** False if an identical live record existed. */
  created: boolean
}

/** Maximum number of files in one answer. */
export const LISTED_FILES = 1_000

/** Record of a directory, and its first files. */
export interface DirectoryOutcome extends PinOutcome {
  /** At most 1,000. */
  files: DagFile[]
  /** Number of all files in the directory. */
  totalFiles: number
}

/** Options of a CAR import. */
export interface CarImportOptions extends UploadOptions {
  /**
   * Accepts roots with missing blocks as `failed` records, which the network may complete later. Only for plans without
   * a storage limit, because missing blocks cannot be counted. Default false: refuses the CAR.
   */
  allowPartial?: boolean | undefined
}

/** Root of a CAR, and its record. */
export interface CarRoot extends PinOutcome {
  /** Missing blocks, if the root was accepted in part. Blocks below a missing one are not counted. */
  missing: { blocks: number; first: string } | null
}

/** Outcome of a CAR import: the record of the first root, and all roots. `created` is true if any record is new. */
export interface CarOutcome extends PinOutcome {
  roots: CarRoot[]
}

/** Complete upload for a cluster that another node keeps. */
export interface ForwardedUpload<Piece> {
  /** Id of the other node. */
  node: string
  /** Content of the upload, read from the staged DAG. Reading it to the end releases the quota reservation. */
  content: AsyncIterable<Piece>
  signal: AbortSignal
}

/** Sends an upload to another node and returns the outcome. Once it settles, the staged DAG is dropped. */
export type HandOver<Piece, T> = (staged: ForwardedUpload<Piece>) => Promise<T>

/** Request to pin content by its CID. */
export interface PinRequest extends PinTarget, PinNames {
  /** Account id. Default: the owner, if `singleUser` is set. */
  account?: string | undefined
  cid: string
  /** Providers to ask first: multiaddrs that end in `/p2p/<id>`, or URLs of trustless gateways. */
  origins?: readonly string[] | undefined
  /** Answers immediately with a `queued` record and fetches the content in the background. */
  respondAsync?: boolean | undefined
  /**
   * Always creates a new record in status `queued`, even if this node has the content. The IPFS Pinning Service API
   * requires it.
   */
  isAnew?: boolean | undefined
  /** Called with the distinct blocks and bytes fetched from the network, while the request lasts. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Account of a request, and its plan. */
export interface Requester {
  account: Account
  plan: Plan
}

/** Cluster and expiry, after defaults and permissions are applied. */
export interface DecidedTarget {
  clusterId: string
  expiresAt: number | null
}

/** Pin request with its decided target. */
export interface DecidedPin {
  request: PinRequest
  requester: Requester
  cid: CID
  target: DecidedTarget
  home: StagingBackend
}

/** Filters of a list. A record must match all that are given. */
export interface ListQuery {
  /** Account id. Default: the owner, if `singleUser` is set. */
  account?: string | undefined
  /** Page number, starting at 1. */
  page?: number | undefined
  /** Items per page. Capped by the plan. */
  limit?: number | undefined
  /** Lists only records of this CID. */
  cid?: string | undefined
  /** Lists only records of these CIDs; at most 10. */
  cids?: readonly string[] | undefined
  /** Lists the files below this root in place of records. */
  parentCid?: string | undefined
  /** Lists only records with an expiry. */
  hasExpiration?: boolean | undefined
  /** Text that the stored name contains, ignoring case. */
  q?: string | undefined
  /** The stored name, compared according to `match`. Default `exact`. */
  name?: string | undefined
  match?: NameMatch | undefined
  /** Lists only records that have all of these keys with these values. */
  meta?: Readonly<Record<string, string>> | undefined
  /** One or more types. `status` takes one or more as well. */
  type?: PinType | readonly PinType[] | undefined
  status?: PinStatus | readonly PinStatus[] | undefined
  /**
   * Lists only records created strictly before or after this instant: a `Date`, an RFC 3339 date-time, or milliseconds
   * since the epoch.
   */
  before?: Date | string | number | undefined
  after?: Date | string | number | undefined
  /** Order by time of creation. Default `newest`. */
  sort?: 'newest' | 'oldest' | undefined
}

/** Filters of a list without pages. */
export type WholeListQuery = Omit<ListQuery, 'page' | 'limit'>

/** Selects an account's records of one CID. */
export interface CidRequest {
  /** Account id. Default: the owner, if `singleUser` is set. */
  account?: string | undefined
  cid: string
  /** Cluster id. Selects only records in this cluster. */
  cluster?: string | undefined
}

/** Selects one record of an account. */
export interface RecordRequest {
  /** Account id. Default: the owner, if `singleUser` is set. */
  account?: string | undefined
  uploadId: string
}

/** New name or metadata of a record. Omitted values stay. */
export interface RenameRequest extends RecordRequest {
  name?: string | undefined
  /** Replaces all metadata. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** Item of a list: a record, or a file below it. `path` and `parentCid` are null for a record. */
export interface ListItem extends PinRecord {
  parentCid: string | null
  path: string | null
}

/** Page of a list. */
export interface ListPage {
  /** Sorted as requested. */
  items: ListItem[]
  /** Number of items on all pages. */
  total: number
  /** True if a search by name or meta has more matches than were counted: over 10,000, and over the end of this page. */
  totalIsLowerBound?: true
  page: number
  /** Effective limit: the requested one, capped by the plan. */
  limit: number
  totalPages: number
}

/** Storage that an account uses. */
export interface Usage {
  /** Number of live records. */
  pins: number
  /** Bytes of all distinct DAGs, each counted once, with at least 512 bytes for each block. */
  storedBytes: number
}

/** Events of `engine.events`. */
export interface EngineEvents {
  /** A record was created, in any status. */
  'pin:created': { record: PinRecord }
  /** The status of an existing record changed. */
  'pin:status': { record: PinRecord; from: PinStatus; reason: string | null }
  /** A record was deleted or has expired. */
  'pin:removed': { record: PinRecord; reason: 'deleted' | 'expired' }
  /** A read or a verification found a block damaged. `block:healed`: its bytes are correct again. */
  'block:damaged': { cid: CID; reason: string }
  'block:healed': { cid: CID }
  /** Garbage collection finished. Counts of deleted roots and blocks, and their bytes. */
  collected: { roots: number; blocks: number; bytes: number }
}
