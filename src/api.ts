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
 * Uploads, pins, lists and removes the content of accounts. All interfaces of the node use this service.
 *
 * @throws HoldfastError from every method: `VALIDATION` if no account is named, `NOT_FOUND` for an unknown account,
 * `UNAVAILABLE` after the engine has stopped
 */
export interface PinService {
  /**
   * Stores and pins a file. Resolves when the content and its record are durable. On failure nothing is stored.
   *
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `STORAGE_FULL`, `ABORTED`; errors of the source
   */
  upload(content: ByteSource, options?: UploadOptions): Promise<PinOutcome>
  /**
   * Stores files as one directory and pins its root. Reads the entries one at a time.
   *
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE`; `INVALID_PATH`, which names the
   * path
   */
  uploadDirectory(entries: DirectoryEntries, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores and pins a directory on this machine. The directory must be below an import root.
   *
   * @throws HoldfastError errors of {@link PinService.uploadDirectory}
   */
  importDirectory(dirPath: string, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores the DAGs in a CAR and pins all of its roots, or none. Deletes blocks that no root needs. The CAR may omit
   * blocks of live records on this node. Resolves when content and records are durable.
   *
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE` for the size of the CAR;
   * `INVALID_CID` for an unsupported codec or hash; `NOT_OFFERED` or `CONFLICT` if an incomplete root cannot be
   * accepted
   */
  importCar(source: ByteSource, options?: CarImportOptions): Promise<CarOutcome>
  /**
   * Pins existing content by its CID.
   *
   * @throws HoldfastError `INVALID_CID`, `CID_NOT_FOUND`, `QUOTA_EXCEEDED`; `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`; `VALIDATION` for a name
   */
  pin(request: PinRequest): Promise<PinOutcome>
  /**
   * Removes an account's records of a CID, in one cluster or in all. Returns the removed records when the removal is
   * durable.
   *
   * @throws HoldfastError `PIN_NOT_FOUND` if there is no record, or if the CID is malformed
   */
  remove(request: CidRequest): Promise<PinRecord[]>
  /** Returns a record by its id. @throws HoldfastError `NOT_FOUND` */
  get(request: RecordRequest): Promise<PinRecord>
  /** Removes a record by its id, and returns the removed record. @throws HoldfastError `NOT_FOUND` */
  discard(request: RecordRequest): Promise<PinRecord>
  /**
   * Returns a page of an account's records. By default the newest records come first.
   *
   * @throws HoldfastError `VALIDATION`, which names the field, `INVALID_CID` for a filter
   */
  list(query?: ListQuery): Promise<ListPage>
  /** Yields all items of a list. If records are added or removed meanwhile, no other record is repeated or omitted. */
  all(query?: WholeListQuery): AsyncIterable<ListItem>
  /** Returns the progress of an account's records of a CID, newest first. @throws HoldfastError `PIN_NOT_FOUND` */
  status(request: StatusRequest): Promise<PinProgress[]>
  /** Returns an account's newest record of a CID, and the files below it. @throws HoldfastError `PIN_NOT_FOUND` */
  dag(request: CidRequest): Promise<DirectoryOutcome>
  /** Renames a record or changes its metadata. Returns the record. @throws HoldfastError `NOT_FOUND`, `VALIDATION` */
  rename(request: RenameRequest): Promise<PinRecord>
  /** Returns the number of an account's live records, and the storage that they use. */
  usage(account?: string): Promise<Usage>
  /**
   * Checks the target of a request. Call this before the body of the request is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   */
  checkTarget(account: string, target: PinTarget): Promise<void>
}

/** Clusters of an engine, and the backends that keep their content. */
export interface ClusterRegistry {
  /**
   * Returns the clusters in configured order. If an account is given, returns only the clusters that the account may
   * use.
   *
   * @throws HoldfastError `NOT_FOUND` for an unknown account
   */
  list(options?: { account?: string | undefined }): Promise<Cluster[]>
  /** Returns the backend of a cluster. Default: the default cluster. @throws HoldfastError `NOT_FOUND` */
  backendOf(cluster?: string): Promise<ClusterBackend>
}

/** Content that the operator has taken down. The gateway and the peer exchange do not serve this content. */
export interface TakedownList {
  /** Returns a page of the takedowns, oldest first. */
  page(request: PageRequest): Promise<Page<Takedown>>
  /**
   * Takes content down. When the promise resolves, the gateway refuses the content, and the entry is durable. A
   * repeated call replaces the reason and the status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   */
  add(request: TakedownRequest): Promise<Takedown>
  /**
   * Removes a takedown. The content is then served again.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if there is no takedown with this CID and path
   */
  remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void>
}

/**
 * The running Helia node, for use with other Helia packages. The Helia node can read but not delete pinned content.
 * Blocks added through Helia belong to the host program and are not pinned. The object is from `@helia/libp2p` and can
 * be cast to `HeliaWithLibp2p`.
 */
export interface HeliaNode {
  /** Pinned blocks, and blocks that the host program has added. */
  readonly blockstore: Blockstore
  /** Datastore of the engine. Helia and the host program share it. */
  readonly datastore: Datastore
}

/** HTTP handlers of an engine, for adapters that serve them. */
export interface Border {
  /** Handles the v3 API. */
  readonly api: ApiHandler
  /** Handles `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
  /** Handles `/ipfs/` on an origin that serves nothing else, without cookies or keys. Pages are not sandboxed. */
  readonly ownGateway: ApiHandler
  /** Number of reverse proxies between clients and the node, as configured. */
  readonly trustedProxies: number
  /** Returns whether the headers of a request name a host that serves only content. */
  isContentHost(header: (name: string) => string | undefined): boolean
}

/** Options of an engine. */
export interface EngineOptions extends EngineConfig {
  /** Directory for all data of the engine, created if missing. Only one engine at a time may own the directory. */
  dataDir: string
  /** Logger. The default discards all messages. */
  logger?: Logger
  /** Receives finished requests and garbage collections. The default discards them. */
  metrics?: Metrics
  /** Clock. The default is the system clock. */
  clock?: Clock
  /** Values of the environment variables that the configuration names. Default: empty. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Kinds of systems that clusters may name as their `backend`. Default: none. */
  adapters?: readonly BackendAdapter[]
  /** Catalogue adapter for a configuration with `database`: `postgres` from `holdfast/postgres`. Default: none. */
  catalogue?: CatalogueAdapter
  /**
   * Backends by cluster id, which replace storage on this node. A record stays `pinning`, and its content stays on this
   * node, until the backend has the content. The caller closes the backends after the engine has stopped.
   */
  backends?: Readonly<Record<string, ClusterBackend>>
  /** Replaces `node:fs` for block files. Databases always use `node:fs`. */
  fileSystem?: FileSystem
  /**
   * Number of threads in libuv's thread pool, which all engines of the process share. Default 4, as in libuv. Writes of
   * blocks use at most half of the threads. Set `UV_THREADPOOL_SIZE` to change the pool itself.
   */
  threadPoolSize?: number
  /** Memory in bytes that the process may use. Default: the memory of the machine. */
  memoryBytes?: number
  /**
   * If true, calls of `engine.pins` without an account use the owner's account, which is created if missing. Default
   * false: such calls fail with `VALIDATION`, so that a program with many users cannot mix up their content.
   */
  singleUser?: boolean
}

/**
 * A started engine. Engines in one process share no state.
 *
 * @throws HoldfastError `UNAVAILABLE` from every method except `stop` and `announceStop` after the engine has stopped
 */
export interface Engine extends Border, AsyncDisposable {
  /** Uploads, pins and lists the content of accounts. */
  readonly pins: PinService
  /** Reads stored content without HTTP. */
  readonly content: Content
  readonly clusters: ClusterRegistry
  readonly accounts: Accounts
  /** API keys of all accounts. */
  readonly keys: Keys
  readonly events: Events
  /** Content that the operator has taken down. The gateway and the peer exchange do not serve this content. */
  readonly takedowns: TakedownList
  /** Absolute path of the data directory. */
  readonly dataDir: string
  /** Absolute paths of the directories that an import by path may read. */
  readonly importRoots: readonly string[]
  /**
   * Sets the public URL of the node. Call this if the URL is known only after the server listens. `gateway` is the URL
   * of a gateway with its own address.
   */
  setPublicUrl(url: string, gateway?: string): Promise<void>
  /**
   * Lets another thread of this process serve the content of this engine. Pass the result to `openReading` in that
   * thread. The thread then serves like `ownGateway`. Removals, takedowns and expiries apply immediately, and all
   * threads share one set of slots. Call `startReaders` from `holdfast/node-http` to do all of this.
   *
   * @throws HoldfastError `UNAVAILABLE` for more than 63 threads
   */
  shareReading(): Promise<SharedReading>
  /**
   * Runs a garbage collection now, and returns what was deleted. `graceSeconds: 0` also deletes content released just
   * before. Default: the configured grace period.
   */
  collect(options?: { graceSeconds?: number }): Promise<Collected>
  /** Returns the Helia node, which stops with the engine. @throws HoldfastError `UNAVAILABLE` if networking is off */
  helia(): Promise<HeliaNode>
  /** Returns the multiaddrs of this node. Returns none if networking is off. */
  addresses(): Promise<string[]>
  /**
   * Reads every block and checks its hash. Other calls continue. To repair a damaged file, upload it again. If the
   * signal aborts, the check ends early and returns its findings so far.
   */
  verify(options?: VerifyOptions): Promise<Verified>
  /**
   * Backs up all data into a directory outside the data directory. Other calls continue, but no block is deleted. A
   * repeated run adds only new data. `restoreBackup` creates a data directory from the backup, and `checkBackup`
   * verifies it.
   *
   * @throws HoldfastError `CONFLICT` while another process uses the directory, or for a backup of another node;
   * `CONFLICT` without `force` if the backup has more than twice as many roots as this node; `VALIDATION` for a
   * directory inside the data directory or with other files; `BACKUP_UNUSABLE` for an unreadable manifest
   */
  backup(directory: string, options?: BackupOptions): Promise<BackupOutcome>
  /**
   * Compares records, holds, roots, blocks and files, and repairs inconsistencies. Other calls continue. Pins with lost
   * content become `pinning` until the content is fetched again.
   *
   * @throws HoldfastError `CONFLICT` while another reconciliation runs; `CONFLICT` without `force` if the repair would
   * release more than 1 % of all holds or roots
   */
  reconcile(options?: ReconcileOptions): Promise<Reconciled>
  /** Returns the size and health of the engine. The call is cheap enough to repeat every few seconds. */
  stats(): Promise<EngineStats>
  /**
   * Prepares for {@link Engine.stop}. From now on `/ready` answers 503, and other nodes send no new requests. All other
   * calls continue, so that load balancers have time to react.
   */
  announceStop(): Promise<void>
  /** Returns the size in bytes of all blocks that are being sent to clients, and the maximum size. */
  answerMemory(): Promise<{ used: number; limit: number }>
  /** Aborts running work and closes all stores. Repeated calls are allowed. */
  stop(): Promise<void>
}
