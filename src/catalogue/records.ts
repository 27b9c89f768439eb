import type { PinStatus, StatusCode } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { NewBlock } from '../ledger/blocks.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { NumberedPage, Page, PageRequest } from './page.ts'

/** A stored record. `PinRecord` documents the fields. */
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
  /** Code for programs; {@link statusReason} is the text. */
  statusCode: StatusCode | null
  statusReason: string | null
  fetchId: number | null
  name: string | null
  originalName: string | null
  customName: string | null
  /** A JSON object with string values and sorted keys; null for none. */
  meta: string | null
  size: number
  dagSize: number
  /** Bytes that its blocks count against the quota; 0 while this node does not have them. */
  charge: number
  expiresAt: number | null
  createdAt: number
}

/** The fields of a record that lists show. Lists read many rows, so they leave the others out. */
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
  /** Records whose content has not arrived. */
  maxQueuedPins: number | null
}

/** The blocks fetched so far of a DAG. */
export interface Brought {
  blocks: number
  bytes: number
  /** Bytes that the blocks count against the quota. */
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
      /** The staged root of the DAG. Null if a complete root must already exist, or `block` is given. */
      stagedRootId: number | null
      /** The only block of the DAG, stored with the record. Requires {@link Records.takesBlocks}. */
      block?: NewBlock | null
      dag: WholeDag
    }
  /** Only a part of the DAG is staged. A fetch continues from it. */
  | { kind: 'partial'; stagedRootId: number; brought: Brought }
)

/** The outcome of a commit for one record. */
export interface Committed {
  record: RecordRow
  /** False if an identical live record already existed. */
  created: boolean
  /** The previous state of the record if it was waiting for this content. The caller ends its fetch. */
  waited: RecordRow | null
  /** True if the given block repaired a damaged block on this node. */
  healed?: boolean
}

/** Selects live records of an account; `now` excludes expired ones. */
export interface RecordFilter {
  accountId: string
  multihash: Uint8Array | null
  hasExpiration: boolean
  now: number
  /** Further conditions. With them, results are in insertion order or its reverse. */
  search?: RecordSearch | undefined
}

/** Comparison of names: the whole name or a part of it, case-sensitive (`exact`, `partial`) or not. */
export type NameMatch = 'exact' | 'iexact' | 'partial' | 'ipartial'

/** Search conditions for records. A record must match all of them. */
export interface RecordSearch {
  /** Conditions on the name. No text is empty. */
  names: ReadonlyArray<{ text: string; match: NameMatch }>
  meta: Readonly<Record<string, string>>
  /** Any of these; empty for all. */
  types: ReadonlyArray<RecordRow['type']>
  statuses: readonly PinStatus[]
  multihashes: readonly Uint8Array[]
  /** Created strictly before and after these instants, in milliseconds since the epoch. */
  before: number | null
  after: number | null
  /** True for insertion order; false for its reverse. */
  oldestFirst: boolean
}

/** A change of a record's name or meta. */
export interface RenameRequest {
  accountId: string
  id: string
  /** Undefined keeps the name. */
  name: string | undefined
  /** As in {@link RecordRow}; undefined keeps the meta. */
  meta: string | null | undefined
  now: number
}

/** Usage of an account, from its records. */
export interface AccountUsage {
  /** Live records. */
  pins: number
  expiringPins: number
  /** Sum of the quota bytes of each distinct root. Counts expired records until they are removed. */
  storedBytes: number
}

/**
 * The records of accounts. Each method that changes something is one transaction, or several short ones if stated;
 * after a crash the next start finishes those. The caller passes the current time.
 */
export interface Records {
  /** True if a commit can store a DAG of one block itself, so that the caller need not stage it. */
  readonly takesBlocks?: boolean
  /**
   * Inserts the records and holds their content, all or none.
   *
   * @param token the id of the upload token that this commit uses once
   * @throws HoldfastError `QUOTA_EXCEEDED`, also if the token is used up; `INVALID_API_KEY` if the token is gone;
   * `CID_NOT_FOUND` if nothing was staged and the DAG is no longer stored; `CONFLICT` for a partial DAG that is already
   * known
   */
  commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]>
  /**
   * Removes an account's live records of a DAG, in one cluster or all, in several transactions. Returns them, newest
   * first.
   */
  remove(request: { accountId: string; dag: DagIdentity; clusterId: string | null; now: number }): Promise<RecordRow[]>
  /** Removes one record. Returns whether it existed. */
  discard(id: string): Promise<boolean>
  /** Removes up to `limit` expired records, those that expired first. Returns them. */
  expire(now: number, limit: number): Promise<RecordRow[]>
  /** Finishes removals that an earlier process began. */
  finishRemovals(): Promise<void>
  /** Changes the name of a live record, or replaces its whole meta. Returns whether the record exists. */
  rename(request: RenameRequest): Promise<boolean>

  get(id: string): Promise<RecordRow | undefined>
  /** Returns up to `limit` of an account's live records of a DAG, newest first. */
  ofDag(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
    limit: number
  }): Promise<RecordRow[]>
  /** Returns an account's newest live record of a DAG. With `hasExpiration`, considers only records that expire. */
  newestOf(request: {
    accountId: string
    dag: DagIdentity
    hasExpiration: boolean
    now: number
  }): Promise<RecordRow | undefined>
  usage(accountId: string, now: number): Promise<AccountUsage>
  /** Returns a page of the matching records, newest first, and their total number. */
  page(filter: RecordFilter, offset: number, limit: number): Promise<NumberedPage<ListedRecord>>
  /** Returns the matching records page by page, newest first. */
  walk(filter: RecordFilter, page: PageRequest): Promise<Page<ListedRecord>>
  /** Returns when the next record expires; null if none does. */
  nextExpiry(): Promise<number | null>
}
