import type { Blockstore } from 'interface-blockstore'
import type { Datastore } from 'interface-datastore'
import type { Accounts } from './access/accounts/accounts.ts'
import type { Keys } from './access/keys/keys.ts'
import type { BackupOptions, BackupOutcome } from './backup/back-up.ts'
import type { CatalogueAdapter } from './catalogue/catalogue-adapter.ts'
import type { Page, PageRequest } from './catalogue/page.ts'
import type { BackendAdapter } from './clusters/backend-adapter.ts'
import type { ClusterBackend } from './clusters/cluster-backend.ts'
import type { Cluster } from './clusters/cluster-registry.ts'
import type { EngineConfig } from './config/engine-options.ts'
import type { Collected } from './content/collector.ts'
import type { Verified, VerifyOptions } from './content/verifier.ts'
import type { Clock } from './domain/clock.ts'
import type { FileSystem } from './domain/file-system.ts'
import type { Logger } from './domain/logger.ts'
import type { Metrics } from './domain/metrics.ts'
import type { Takedown, TakedownRequest } from './gateway/policy/takedowns.ts'
import type { Content } from './gateway/reader/content-request.ts'
import type { SharedReading } from './gateway/source/shared-reading.ts'
import type { ApiHandler } from './http/api-messages.ts'
import type { Events } from './pins/events.ts'
import type { PinProgress, StatusRequest } from './pins/fetch/pin-progress.ts'
import type { EngineStats } from './pins/lists/statistics.ts'
import type {
  ByteSource,
  CarImportOptions,
  CarOutcome,
  CidOptions,
  CidRequest,
  DirectoryEntries,
  DirectoryOutcome,
  ListItem,
  ListPage,
  ListQuery,
  PinOutcome,
  PinRecord,
  PinRequest,
  PinTarget,
  RecordRequest,
  RenameRequest,
  UploadOptions,
  Usage,
  WholeListQuery,
} from './pins/pin-types.ts'
import type { Reconciled, ReconcileOptions } from './upkeep/findings.ts'

/**
 * Uploads, pins, lists and removes the content of accounts. A call without `account` uses the only account of the
 * engine, and creates the owner if there is no account.
 * @throws HoldfastError from every method: `VALIDATION` if no account is named and the engine has several, or for an
 * unknown option; `NOT_FOUND` for an unknown account; `UNAVAILABLE` after the engine has stopped
 */
export interface PinService {
  /**
   * Stores and pins a file. Resolves when the content and its record are durable. On failure nothing is stored.
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `STORAGE_FULL`, `ABORTED`; errors of the source
   */
  upload(content: ByteSource, options?: UploadOptions): Promise<PinOutcome>
  /**
   * Stores files as one directory and pins its root.
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE`; `INVALID_PATH`, which names the
   * path
   */
  uploadDirectory(entries: DirectoryEntries, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores and pins a directory below an import root.
   * @throws HoldfastError errors of {@link PinService.uploadDirectory}
   */
  importDirectory(dirPath: string, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores the DAGs in a CAR and pins all of its roots, or none. The CAR may omit blocks of live records on this node.
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE` for the size of the CAR;
   * `INVALID_CID` for an unsupported codec or hash; `NOT_OFFERED` or `CONFLICT` if an incomplete root cannot be
   * accepted
   */
  importCar(source: ByteSource, options?: CarImportOptions): Promise<CarOutcome>
  /**
   * Pins existing content by its CID.
   * @throws HoldfastError `INVALID_CID`, `CID_NOT_FOUND`, `QUOTA_EXCEEDED`; `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`; `VALIDATION` for a name
   */
  pin(request: PinRequest): Promise<PinOutcome>
  pin(cid: string, options?: Omit<PinRequest, 'cid'>): Promise<PinOutcome>
  /**
   * Removes an account's records of a CID, in one cluster or in all. Resolves when the removal is durable.
   * @throws HoldfastError `PIN_NOT_FOUND` if there is no record, or if the CID is malformed
   */
  remove(request: CidRequest): Promise<PinRecord[]>
  remove(cid: string, options?: CidOptions): Promise<PinRecord[]>
  /** @throws HoldfastError `NOT_FOUND` */
  get(request: RecordRequest): Promise<PinRecord>
  /** Removes a record by its id. @throws HoldfastError `NOT_FOUND` */
  discard(request: RecordRequest): Promise<PinRecord>
  /**
   * Returns a page of an account's records, by default newest first.
   * @throws HoldfastError `VALIDATION`, which names the field, `INVALID_CID` for a filter
   */
  list(query?: ListQuery): Promise<ListPage>
  /** Yields all items of a list. Records added or removed meanwhile do not repeat or hide other records. */
  all(query?: WholeListQuery): AsyncIterable<ListItem>
  /** Returns the progress of an account's records of a CID, newest first. @throws HoldfastError `PIN_NOT_FOUND` */
  status(request: StatusRequest): Promise<PinProgress[]>
  status(cid: string, options?: Omit<StatusRequest, 'cid'>): Promise<PinProgress[]>
  /** Returns an account's newest record of a CID. @throws HoldfastError `PIN_NOT_FOUND` */
  dag(request: CidRequest): Promise<DirectoryOutcome>
  dag(cid: string, options?: CidOptions): Promise<DirectoryOutcome>
  /** @throws HoldfastError `NOT_FOUND`, `VALIDATION` */
  rename(request: RenameRequest): Promise<PinRecord>
  usage(account?: string): Promise<Usage>
  /**
   * Call this before the body of a request is read.
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   */
  checkTarget(account: string, target: PinTarget): Promise<void>
}

/** Clusters of an engine, and the backends that keep their content. */
export interface ClusterRegistry {
  /**
   * Returns the clusters in configured order. With an account, returns only the clusters that the account may use.
   * @throws HoldfastError `NOT_FOUND` for an unknown account
   */
  list(options?: { account?: string | undefined }): Promise<Cluster[]>
  /** Without a name, returns the default cluster's backend. @throws HoldfastError `NOT_FOUND` */
  backendOf(cluster?: string): Promise<ClusterBackend>
}

/** Content that the operator has taken down. The gateway and the peer exchange do not serve this content. */
export interface TakedownList {
  /** Returns a page of the takedowns, oldest first. */
  page(request: PageRequest): Promise<Page<Takedown>>
  /**
   * Takes content down. When the promise resolves, the entry is durable. A repeated call replaces the reason and the
   * status.
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   */
  add(request: TakedownRequest): Promise<Takedown>
  /** @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if there is no takedown with this CID and path */
  remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void>
}

/**
 * The running Helia node, which can read but not delete pinned content. Blocks added through Helia are not pinned. Cast
 * the object to `HeliaWithLibp2p` of `@helia/libp2p`.
 */
export interface HeliaNode {
  /** Pinned blocks, and blocks that the host program has added. */
  readonly blockstore: Blockstore
  readonly datastore: Datastore
}

/** HTTP handlers of an engine, for adapters that serve them. */
export interface Border {
  readonly api: ApiHandler
  /** Handles `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
  /** Handles `/ipfs/` on an origin that serves nothing else, without cookies or keys. Pages are not sandboxed. */
  readonly ownGateway: ApiHandler
  /** Number of reverse proxies between clients and the node. */
  readonly trustedProxies: number
  /** Returns whether the headers of a request name a host that serves only content. */
  isContentHost(header: (name: string) => string | undefined): boolean
}

/** Options of an engine. */
export interface EngineOptions extends EngineConfig {
  /** Created if missing. Only one engine at a time may own the directory. */
  dataDir: string
  /** Default: discards all messages. */
  logger?: Logger
  /** Receives finished requests and garbage collections. */
  metrics?: Metrics
  clock?: Clock
  /** Values of the environment variables that the configuration names. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Kinds of systems that clusters may name as their `backend`. */
  adapters?: readonly BackendAdapter[]
  /** With `database` in the configuration: `postgres` from `holdfast/postgres`. */
  catalogue?: CatalogueAdapter
  /**
   * Backends by cluster id, which replace storage on this node. Until the backend has the content, the record stays
   * `pinning`. The caller closes the backends after the engine has stopped.
   */
  backends?: Readonly<Record<string, ClusterBackend>>
  /** Replaces `node:fs` for block files. Databases always use `node:fs`. */
  fileSystem?: FileSystem
  /**
   * Size of libuv's thread pool, which all engines of the process share. Default 4. Set `UV_THREADPOOL_SIZE` to change
   * the pool itself.
   */
  threadPoolSize?: number
  /** Memory that the process may use. Default: the memory of the machine. */
  memoryBytes?: number
  /**
   * If true, calls of `engine.pins` without an account use the owner's account, which is created if missing, even if
   * there are other accounts.
   */
  singleUser?: boolean
}

/**
 * A started engine. Engines in one process share no state.
 * @throws HoldfastError `UNAVAILABLE` from every method except `stop` and `announceStop` after the engine has stopped
 */
export interface Engine extends Border, AsyncDisposable {
  readonly pins: PinService
  /** Reads stored content without HTTP. */
  readonly content: Content
  readonly clusters: ClusterRegistry
  readonly accounts: Accounts
  readonly keys: Keys
  readonly events: Events
  readonly takedowns: TakedownList
  /** Absolute path. */
  readonly dataDir: string
  /** Absolute paths of the directories that an import by path may read. */
  readonly importRoots: readonly string[]
  /**
   * Sets the public URL of the node and of a gateway with its own address. Call this if the URL is known only after the
   * server listens.
   */
  setPublicUrl(url: string, gateway?: string): Promise<void>
  /**
   * Lets another thread serve the content of this engine, like `ownGateway`. Pass the result to `openReading`, or call
   * `startReaders` from `holdfast/node-http`.
   * @throws HoldfastError `UNAVAILABLE` for more than 63 threads
   */
  shareReading(): Promise<SharedReading>
  /**
   * Runs a garbage collection now. `graceSeconds: 0` also deletes content released just before. Default: the configured
   * grace period.
   */
  collect(options?: { graceSeconds?: number }): Promise<Collected>
  /** Returns the Helia node, which stops with the engine. @throws HoldfastError `UNAVAILABLE` if networking is off */
  helia(): Promise<HeliaNode>
  /** Returns the multiaddrs of this node, or none if networking is off. */
  addresses(): Promise<string[]>
  /**
   * Checks the hash of every block. To repair a damaged file, upload it again. If the signal aborts, returns the
   * findings so far.
   */
  verify(options?: VerifyOptions): Promise<Verified>
  /**
   * Backs up all data. Other calls continue, but no block is deleted. A repeated run adds only new data. See
   * `restoreBackup` and `checkBackup`.
   * @throws HoldfastError `CONFLICT` while another process uses the directory, or for a backup of another node;
   * `CONFLICT` without `force` if the backup has more than twice as many roots as this node; `VALIDATION` for a
   * directory inside the data directory or with other files; `BACKUP_UNUSABLE` for an unreadable manifest
   */
  backup(directory: string, options?: BackupOptions): Promise<BackupOutcome>
  /**
   * Compares records, holds, roots, blocks and files, and repairs inconsistencies. Pins with lost content become
   * `pinning` until the content is fetched again.
   * @throws HoldfastError `CONFLICT` while another reconciliation runs; `CONFLICT` without `force` if the repair would
   * release more than 1 % of all holds or roots
   */
  reconcile(options?: ReconcileOptions): Promise<Reconciled>
  /** Returns the size and health of the engine, cheaply enough to repeat every few seconds. */
  stats(): Promise<EngineStats>
  /**
   * Prepares for {@link Engine.stop}. From now on `/ready` answers 503, and other nodes send no new requests. Ends
   * running verifications, backups and reconciliations with `ABORTED`. All other calls continue, which gives load
   * balancers time to react.
   */
  announceStop(): Promise<void>
  /** Returns the bytes of all blocks that are being sent to clients, and their limit. */
  answerMemory(): Promise<{ used: number; limit: number }>
  /** Aborts running work and closes all stores. Repeated calls are allowed. */
  stop(): Promise<void>
}
