import type { PinStatus, StatusCode } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { NewBlock } from '../ledger/blocks.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { Page, PageRequest } from './page.ts'

/** A record as it is kept; see `PinRecord` for the meaning of each field. */
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
  /** What of {@link statusReason} programs go by. */
  statusCode: StatusCode | null
  statusReason: string | null
  fetchId: number | null
  name: string | null
  originalName: string | null
  customName: string | null
  /** A JSON object of texts, its keys sorted; null for none. */
  meta: string | null
  size: number
  dagSize: number
  /** What its blocks count against the quota, in bytes; 0 while they are not here. */
  charge: number
  expiresAt: number | null
  createdAt: number
}

/** What lists tell of a record. Of a page there are many, so no more is read for it. */
export type ListedRecord = Omit<
  RecordRow,
  'codec' | 'multihash' | 'rootId' | 'statusAt' | 'statusCode' | 'statusReason' | 'fetchId' | 'charge'
>

/** A record about to be made: all of it but what the transaction finds out. */
export type NewRecord = Omit<RecordRow, 'rootId' | 'dagSize' | 'charge' | 'fetchId'>

/** The limits of a plan that a new record meets; null for none. */
export interface PinLimits {
  maxPins: number | null
  maxStorageBytes: number | null
  /** Records that wait for their content. */
  maxQueuedPins: number | null
}

/** What has been brought of a DAG. */
export interface Brought {
  blocks: number
  bytes: number
  /** What the blocks count against a quota, in bytes. */
  charge: number
}

/** A record to be written, and the content that it is for. */
export type CommitIntent = {
  record: NewRecord
  backendId: number
  limits: PinLimits
  now: number
} & (
  | {
      kind: 'whole'
      /** The staged root that has the DAG, or null if a complete one must be there already, or `block` is given. */
      stagedRootId: number | null
      /** The one block that the DAG is, to be stored with the record; only for records that take it. */
      block?: NewBlock | null
      dag: WholeDag
    }
  /** Here in part: what is staged is where a fetch begins. */
  | { kind: 'partial'; stagedRootId: number; brought: Brought }
)

/** A record as a commit left it. */
export interface Committed {
  record: RecordRow
  /** False if an identical live record was there already. */
  created: boolean
  /** The record as it was before, if it had been waiting for this content; its fetch is left for the caller to end. */
  waited: RecordRow | null
  /** Whether the block that came with it was here, damaged, and has been put right. */
  healed?: boolean
}

/** Which records of an account a list wants; `now` hides the expired. */
export interface RecordFilter {
  accountId: string
  multihash: Uint8Array | null
  hasExpiration: boolean
  now: number
  /** More that has to be so. What is found comes in the order in which it was recorded. */
  search?: RecordSearch | undefined
}

/** How a name is compared: all of it or part of it, with upper and lower case (`exact`, `partial`) or without. */
export type NameMatch = 'exact' | 'iexact' | 'partial' | 'ipartial'

/** What records are searched for: all of what is given. */
export interface RecordSearch {
  /** Of stored names; none is empty. */
  names: ReadonlyArray<{ text: string; match: NameMatch }>
  meta: Readonly<Record<string, string>>
  /** One of these; empty for any. */
  types: ReadonlyArray<RecordRow['type']>
  statuses: readonly PinStatus[]
  multihashes: readonly Uint8Array[]
  /** Created strictly before and after, in milliseconds since the epoch. */
  before: number | null
  after: number | null
  /** Whether what was recorded first comes first. */
  oldestFirst: boolean
}

/** What an account has. */
/** What a record is to be called from now on. */
export interface RenameRequest {
  accountId: string
  /** Of the record. */
  id: string
  /** Undefined: it stays. */
  name: string | undefined
  /** As in {@link RecordRow}. */
  meta: string | null | undefined
  now: number
}

/** What the live records of an account come to. */
export interface AccountUsage {
  /** Live records. */
  pins: number
  expiringPins: number
  /** What the blocks of each distinct root count, each root once; of records that expired until they are removed. */
  storedBytes: number
}

/**
 * Who wants what. Each method that changes something is one transaction, or, where it says so, as many short ones as
 * it takes, of which after a crash all or none have happened. Data in, data out: the clock is the caller's.
 */
export interface Records {
  /** Whether a commit stores the block of a DAG of one block, so that it need not be staged. */
  readonly takesBlocks?: boolean
  /**
   * Writes the records and has their content stay, all of them or none.
   *
   * @param token the id of an upload token, of which this is one use
   * @throws HoldfastError `QUOTA_EXCEEDED`, also if the token has no use left; `INVALID_API_KEY` if that is gone;
   * `CID_NOT_FOUND` if nothing was staged and the DAG is gone meanwhile;
   * `CONFLICT` for content that is here in part and known already.
   */
  commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]>
  /** Removes an account's live records of a DAG, in one cluster or all, in steps. Returns them, newest first. */
  remove(request: { accountId: string; dag: DagIdentity; clusterId: string | null; now: number }): Promise<RecordRow[]>
  /** Removes one record. Returns whether it was there. */
  discard(id: string): Promise<boolean>
  /** Removes records that have expired, the earliest first. Returns them. */
  expire(now: number, limit: number): Promise<RecordRow[]>
  /** Ends the removals that an earlier process began. */
  finishRemovals(): Promise<void>
  /**
   * Gives a live record of an account another name, or other meta in place of all it had; what is undefined stays.
   * Returns whether there is such a record.
   */
  rename(request: RenameRequest): Promise<boolean>

  get(id: string): Promise<RecordRow | undefined>
  /** An account's live records of a DAG, newest first, at most `limit`. */
  ofDag(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
    limit: number
  }): Promise<RecordRow[]>
  /** An account's newest live record of a DAG, of those that will expire if only they are asked for. */
  newestOf(request: {
    accountId: string
    dag: DagIdentity
    hasExpiration: boolean
    now: number
  }): Promise<RecordRow | undefined>
  usage(accountId: string, now: number): Promise<AccountUsage>
  /** Some of the records that a filter lets through, newest first, and how many there are in all. */
  page(filter: RecordFilter, offset: number, limit: number): Promise<{ rows: ListedRecord[]; total: number }>
  /** All records that a filter lets through, newest first; a page goes on where the one before has ended. */
  walk(filter: RecordFilter, page: PageRequest): Promise<Page<ListedRecord>>
  /** When the next record expires; null if none does. */
  nextExpiry(): Promise<number | null>
}
