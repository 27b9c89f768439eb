import type { PinStatus, StatusCode } from '../domain/pin-status.ts'
import type { Visibility, VisibilityFilter } from '../domain/visibility.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { NewBlock } from '../ledger/blocks.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { NumberedPage, Page, PageRequest } from './page.ts'

/** Maximum number of characters of a name. */
export const LONGEST_NAME = 255

/** A stored record. The type `PinRecord` documents its fields. */
export interface RecordRow {
  id: string
  accountId: string
  clusterId: string
  cid: string
  codec: number
  multihash: Uint8Array
  rootId: number | null
  type: 'file' | 'directory' | 'pin'
  status: PinStatus
  statusAt: number
  /** Machine-readable. {@link statusReason} is the text for people. */
  statusCode: StatusCode | null
  statusReason: string | null
  fetchId: number | null
  name: string | null
  originalName: string | null
  customName: string | null
  /** A JSON object with string values and sorted keys; null for none. */
  meta: string | null
  /** 0 for a public record, else the number of its account. The root of the record has the same owner. */
  owner: number
  /** The catalogue's word on a record that it and the node called differently. Only in a list of such records. */
  disputed?: Visibility
  size: number
  dagSize: number
  /** Number of quota bytes of the blocks; 0 while this node does not have the blocks. */
  charge: number
  expiresAt: number | null
  createdAt: number
}

/** The fields of a record that lists show. */
export type ListedRecord = Omit<
  RecordRow,
  'codec' | 'multihash' | 'rootId' | 'statusAt' | 'statusCode' | 'statusReason' | 'fetchId' | 'charge'
>

/** A record to insert, without the fields that the transaction determines. */
export type NewRecord = Omit<RecordRow, 'rootId' | 'dagSize' | 'charge' | 'fetchId'>

/** The limits of a plan for new records; null for no limit. */
export interface PinLimits {
  maxPins: number | null
  maxStorageBytes: number | null
  /**
   * Deleted bytes that are still on the disk and count. `maxStorageBytes` is already lower by them. Absent while the
   * node deletes content.
   */
  undeletedBytes?: number
  /** Maximum number of records whose content has not arrived. */
  maxQueuedPins: number | null
}

/** The part of a DAG that has been fetched so far. */
export interface Brought {
  blocks: number
  bytes: number
  /** Number of quota bytes of these blocks. */
  charge: number
}

/** A record to insert, and its content. */
export type CommitIntent = {
  record: NewRecord
  backendId: number
  limits: PinLimits
  now: number
} & (
  | {
      kind: 'whole'
      /** Id of the staged root. Null if `block` is given, or if the DAG must already be complete on this node. */
      stagedRootId: number | null
      /** The only block of the DAG. Requires {@link Records.takesBlocks}. */
      block?: NewBlock | null
      dag: WholeDag
      /** If true, inserts a new record even if an identical record exists. */
      isAnew?: boolean
    }
  /** Only a part of the DAG is staged. A fetch gets the remaining blocks. */
  | { kind: 'partial'; stagedRootId: number; brought: Brought; owner: number; possessor?: number }
)

/** The outcome of a commit for one record. */
export interface Committed {
  record: RecordRow
  /** False if `record` is an identical live record that already existed. */
  created: boolean
  /** The former state of a record that waited for this content; otherwise null. The caller ends the record's fetch. */
  waited: RecordRow | null
  /** True if the commit replaced a damaged block on this node. */
  healed?: boolean
}

/** Selects live records of an account. `now` excludes expired records. */
export interface RecordFilter {
  accountId: string
  multihash: Uint8Array | null
  hasExpiration: boolean
  now: number
  /** Further conditions. If set, the results are sorted by insertion, in the order of `oldestFirst`. */
  search?: RecordSearch | undefined
}

/**
 * `exact` and `iexact` compare whole names, `partial` and `ipartial` search for a part. The names with `i` ignore case.
 */
export type NameMatch = 'exact' | 'iexact' | 'partial' | 'ipartial'

/** Search conditions, all of which a record must match. */
export interface RecordSearch {
  /** No `text` is empty. */
  names: ReadonlyArray<{ text: string; match: NameMatch }>
  meta: Readonly<Record<string, string>>
  /** Empty for all types. */
  types: ReadonlyArray<RecordRow['type']>
  statuses: readonly PinStatus[]
  /** Null for public and private records. */
  visibility: VisibilityFilter | null
  multihashes: readonly Uint8Array[]
  /** Exclusive bounds of the creation time, in milliseconds since the epoch. */
  before: number | null
  after: number | null
  oldestFirst: boolean
}

/** A change of a record's name or meta. */
export interface RenameRequest {
  accountId: string
  id: string
  /** Undefined to leave the name unchanged. */
  name: string | undefined
  /** As in {@link RecordRow.meta}; undefined to leave the meta unchanged. */
  meta: string | null | undefined
  now: number
}

/** The usage of an account, counted from its records. */
export interface AccountUsage {
  pins: number
  expiringPins: number
  /** Number of quota bytes of all distinct roots, including expired records until they are removed. */
  storedBytes: number
}

/**
 * The records of accounts. Each method that changes something is one transaction, unless stated otherwise.
 * After a crash, the next start completes a method of several transactions.
 */
export interface Records {
  /** True if a commit can store a DAG of one block, so that the caller need not stage the DAG. */
  readonly takesBlocks?: boolean
  /**
   * Inserts all the records and places holds on their content, or inserts none.
   *
   * @param token id of the upload token that authorises the commit. The commit counts as one use.
   * @throws HoldfastError `QUOTA_EXCEEDED` if a limit of the plan is exceeded or the token is used up;
   *   `INVALID_API_KEY` if the token no longer exists; `CID_NOT_FOUND` if no root was staged and the DAG is no longer
   *   stored; `CONFLICT` if only a part of the DAG is staged and the DAG is already known
   */
  commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]>
  /**
   * Removes an account's live records of a DAG, in several transactions. Removes them from all clusters if `clusterId`
   * is null. Returns the removed records, newest first.
   */
  remove(request: { accountId: string; dag: DagIdentity; clusterId: string | null; now: number }): Promise<RecordRow[]>
  /** Returns whether the record existed. */
  discard(id: string): Promise<boolean>
  /** Removes records in one transaction. Returns the records that existed. */
  discardAll(ids: readonly string[]): Promise<RecordRow[]>
  /**
   * Removes expired records in the order of their expiry, in turns with removals that an earlier process did not
   * finish.
   */
  expire(now: number, limit: number): Promise<RecordRow[]>
  /** Completes removals that an earlier process did not finish. */
  finishRemovals(): Promise<void>
  /** Changes the name, or replaces the whole meta. Returns whether the record exists. */
  rename(request: RenameRequest): Promise<boolean>
  /**
   * Gives a record and its content another owner: 0 to make it public, or the number of its account. Copies the root in
   * several transactions if other records need it; the last transaction changes the record. Returns null if the account
   * has no such record.
   *
   * @throws HoldfastError `CONFLICT` if the content has not arrived
   */
  setOwner(request: { accountId: string; id: string; owner: number; now: number }): Promise<RecordRow | null>

  get(id: string): Promise<RecordRow | undefined>
  /** Returns live records, newest first. */
  ofDag(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
    limit: number
  }): Promise<RecordRow[]>
  /** Ignores records that never expire, if `hasExpiration` is true. */
  newestOf(request: {
    accountId: string
    dag: DagIdentity
    hasExpiration: boolean
    now: number
  }): Promise<RecordRow | undefined>
  usage(accountId: string, now: number): Promise<AccountUsage>
  /** Returns a page of the matching records, newest first, and the total. */
  page(filter: RecordFilter, offset: number, limit: number): Promise<NumberedPage<ListedRecord>>
  /** Returns a page of the matching records, newest first. */
  walk(filter: RecordFilter, page: PageRequest): Promise<Page<ListedRecord>>
  nextExpiry(): Promise<number | null>
}
