import type { CID } from 'multiformats/cid'
import type { Account, UploadGrant } from '../access/principal.ts'
import type { NameMatch } from '../catalogue/records.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import type { PinStatus } from '../domain/pin-status.ts'
import type { Plan } from '../domain/plan.ts'
import type { ByteSource } from '../domain/sources.ts'

export type { ByteSource, NameMatch, PinStatus }
/** How content came in: as a file, as a directory, or by its CID. */
export type PinType = 'file' | 'directory' | 'pin'

/** One upload or pin request of an account. Times are milliseconds since the epoch, sizes bytes. */
export interface PinRecord {
  /** URL-safe. */
  uploadId: string
  accountId: string
  clusterId: string
  /** As it was sent, or as the upload made it. */
  cid: string
  type: PinType
  status: PinStatus
  /** What to call it: the custom name, else the original name, else the upload's own. */
  name: string | null
  originalName: string | null
  customName: string | null
  /** What else is kept with it; empty if nothing is. */
  meta: Readonly<Record<string, string>>
  /** Content bytes. */
  size: number
  /** Bytes of all distinct blocks; what counts against the quota. */
  dagSize: number
  /** From this instant on it is over; null for never. */
  expiresAt: number | null
  createdAt: number
}

/** A file below a directory root. `cid` is in its canonical version 1 form. */
export interface DagFile {
  /** Names below the root, `/` between them. */
  path: string
  cid: string
  /** Content bytes. */
  size: number
}

/** Where a request's content goes and how long it stays. All optional; unset and empty mean the default. */
export interface PinTarget {
  /** Cluster id. */
  cluster?: string | undefined
  /** RFC 3339 date-time, as clients send it, or the instant itself. */
  timelock?: string | Date | undefined
  /** Sent by another node, whose cluster this one keeps: it stays here or is refused, so that it never goes round. */
  fromNode?: boolean | undefined
}

/** What a record is called. */
export interface PinNames {
  /** The upload's own name: a file name or directory name. */
  name?: string | undefined
  originalName?: string | undefined
  customName?: string | undefined
  /** What else is to be kept with the record, and found by: at most 64 keys, 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** An upload token in use. */
export interface UploadToken extends UploadGrant {
  /** Of the key. */
  id: string
}

/** Whose an upload is, where it goes and what it is called. */
export interface UploadOptions extends PinTarget, PinNames {
  /** Id of the account that the record belongs to. Default: the owner's, in an engine for a single user. */
  account?: string | undefined
  /**
   * Asked once, after the content has been read to its end and before anything is decided: the parts of target and
   * names that a form sends after its file. What it returns wins over the options of the same name.
   */
  late?: (() => Promise<PinTarget & PinNames>) | undefined
  /** Content bytes still to come if known (`Content-Length`), so that a quota is refused before reading. */
  expectedBytes?: number | undefined
  /** Its abort ends the upload with `ABORTED`; nothing of it stays. */
  signal?: AbortSignal | undefined
  /** The upload token by which the upload is made: it is one use of it, and held to what it fixes. */
  token?: UploadToken | undefined
  /** Called with the content bytes taken in so far. */
  onProgress?: ((bytes: number) => void) | undefined
}

/**
 * One entry of a directory that is being uploaded. Paths are relative, `/` between segments. The content of an
 * entry is read to its end before the next entry is asked for.
 */
export type DirectoryEntry =
  /** A path may be known only once the content has been read, in a form that sends it afterwards. */
  | { kind: 'file'; path: string | (() => string); content: ByteSource }
  | { kind: 'directory'; path: string }
  | { kind: 'symlink'; path: string; target: string }

/** The entries of a directory, in any order. */
export type DirectoryEntries = AsyncIterable<DirectoryEntry> | Iterable<DirectoryEntry>

/** The record that a request has now. */
export interface PinOutcome {
  record: PinRecord
  /** False if an identical live record was there already. */
  created: boolean
}

/** Files that one answer lists at most. */
export const LISTED_FILES = 1_000

/** The record of a directory, and files of it. */
export interface DirectoryOutcome extends PinOutcome {
  /** The first files, at most 1,000. */
  files: DagFile[]
  /** How many there are. */
  totalFiles: number
}

/** How a CAR is taken in. */
export interface CarImportOptions extends UploadOptions {
  /**
   * Keep roots that are not here whole, as `failed` records, which the network may complete. Only on plans without a
   * storage limit, because what is not whole is not counted. Default false: they are refused.
   */
  allowPartial?: boolean | undefined
}

/** A root of a CAR and the record that it has now. */
export interface CarRoot extends PinOutcome {
  /** What it lacks, if it was kept in part; the blocks below what is missing are not known. */
  missing: { blocks: number; first: string } | null
}

/** What became of a CAR: the record of its first root, and all of them. `created` tells if any is new. */
export interface CarOutcome extends PinOutcome {
  roots: CarRoot[]
}

/** An upload that has been read to its end and is for a cluster of another node. */
export interface StagedElsewhere<Piece> {
  /** Id of that node. */
  node: string
  /** What was sent, from what was staged of it. What it is held against a quota is given back at its end. */
  content: AsyncIterable<Piece>
  signal: AbortSignal
}

/** What such an upload comes to, in place of a record of this node. What was staged is dropped once it has settled. */
export type HandOver<Piece, T> = (staged: StagedElsewhere<Piece>) => Promise<T>

/** Content to be pinned by its CID. */
export interface PinRequest extends PinTarget, PinNames {
  /** Id of an account. Default: the owner's, in an engine for a single user (`singleUser`). */
  account?: string | undefined
  cid: string
  /** Where to ask first: multiaddrs ending in `/p2p/<id>`, or URLs of trustless gateways. */
  origins?: readonly string[] | undefined
  /** Answer at once with a `queued` record, and do all the rest in the background. */
  respondAsync?: boolean | undefined
  /**
   * Always a record of its own, `queued`, whatever is here and whoever has it; all the rest in the background. For
   * services by the IPFS Pinning Service API.
   */
  isAnew?: boolean | undefined
  /** Called with the distinct blocks and their bytes that have come from the network, as long as the request lasts. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Who asks, and what they may do. */
export interface Requester {
  account: Account
  plan: Plan
}

/** Where content goes and how long it stays, once decided. */
export interface DecidedTarget {
  clusterId: string
  expiresAt: number | null
}

/** A pin request once it is decided where it goes; within the engine. */
export interface DecidedPin {
  request: PinRequest
  requester: Requester
  cid: CID
  target: DecidedTarget
  home: StagingBackend
}

/** Which records of an account are wanted: those of which all is so that is given. */
export interface ListQuery {
  /** Id of an account. Default: the owner's, in an engine for a single user (`singleUser`). */
  account?: string | undefined
  /** From 1. */
  page?: number | undefined
  /** Clamped to the plan's cap. */
  limit?: number | undefined
  /** Only records of this content. */
  cid?: string | undefined
  /** Only records of one of these contents, at most 10. */
  cids?: readonly string[] | undefined
  /** The files below this DAG root instead of records. */
  parentCid?: string | undefined
  /** Only records that will expire. */
  hasExpiration?: boolean | undefined
  /** Part of the stored name, in upper or lower case. */
  q?: string | undefined
  /** The stored name, compared as `match` says; default `exact`. */
  name?: string | undefined
  match?: NameMatch | undefined
  /** Only records that have each of these. */
  meta?: Readonly<Record<string, string>> | undefined
  /** One or more, as with `status`. */
  type?: PinType | readonly PinType[] | undefined
  status?: PinStatus | readonly PinStatus[] | undefined
  /** Created strictly before or after an instant: a `Date`, an RFC 3339 date-time, or milliseconds since the epoch. */
  before?: Date | string | number | undefined
  after?: Date | string | number | undefined
  /** Default `newest`. */
  sort?: 'newest' | 'oldest' | undefined
}

/** A whole list. */
export type WholeListQuery = Omit<ListQuery, 'page' | 'limit'>

/** An account's records of a content. */
export interface CidRequest {
  /** Id of an account. Default: the owner's, in an engine for a single user (`singleUser`). */
  account?: string | undefined
  cid: string
  /** Only those in this cluster. */
  cluster?: string | undefined
}

/** One record of an account. */
export interface RecordRequest {
  /** Id of an account. Default: the owner's, in an engine for a single user (`singleUser`). */
  account?: string | undefined
  uploadId: string
}

/** What a record is to be called from now on; what is left out stays. */
export interface RenameRequest extends RecordRequest {
  name?: string | undefined
  /** In place of all that it had. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** A row of a list: a record, or a file below one (`path` and `parentCid` set, null otherwise). */
export interface ListItem extends PinRecord {
  parentCid: string | null
  path: string | null
}

/** One page of a list. */
export interface ListPage {
  /** In the order that was asked for. */
  items: ListItem[]
  /** Exactly what paging through all pages delivers. */
  total: number
  page: number
  /** The effective limit, after clamping. */
  limit: number
  totalPages: number
}

/** What an account has. */
export interface Usage {
  /** Live records. */
  pins: number
  /** DAG bytes of each distinct root, counted once; each block counts as at least 512. */
  storedBytes: number
}

/** What an engine tells its embedder, in `engine.events`. */
export interface EngineEvents {
  /** A record was written, in whatever status. */
  'pin:created': { record: PinRecord }
  /** Each change of a record's status but its first. */
  'pin:status': { record: PinRecord; from: PinStatus; reason: string | null }
  /** A record is gone, by a call or by its timelock. */
  'pin:removed': { record: PinRecord; reason: 'deleted' | 'expired' }
  /** A block that was read, or verified, is not what it was stored as; and it is again. */
  'block:damaged': { cid: CID; reason: string }
  'block:healed': { cid: CID }
  /** A collection has ended. */
  collected: { roots: number; blocks: number; bytes: number }
}
