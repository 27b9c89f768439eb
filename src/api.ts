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
 * @throws HoldfastError from every method: `VALIDATION` without an account, `NOT_FOUND` for an unknown one,
 * `UNAVAILABLE` after the engine has stopped
 */
export interface PinService {
  /**
   * Stores one file and pins it. Resolves when the content and its record are durable. On failure nothing is stored.
   *
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `STORAGE_FULL`, `ABORTED`; errors of the source
   */
  upload(content: ByteSource, options?: UploadOptions): Promise<PinOutcome>
  /**
   * Stores files as one directory and pins its root. Reads the entries one after the other.
   *
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE`; `INVALID_PATH` naming a path
   */
  uploadDirectory(entries: DirectoryEntries, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores and pins a directory of this machine, which must be below an import root.
   *
   * @throws HoldfastError errors of {@link PinService.uploadDirectory}
   */
  importDirectory(dirPath: string, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores the DAGs of a CAR and pins all of its roots, or none. Blocks that no root needs are dropped. The CAR may
   * omit blocks of live records on this node. Resolves when content and records are durable.
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
   * Removes an account's records of a CID, in one cluster or in all. Returns them once the removal is durable.
   *
   * @throws HoldfastError `PIN_NOT_FOUND` if there is none, also for a malformed CID
   */
  remove(request: CidRequest): Promise<PinRecord[]>
  /** Returns a record by its id. @throws HoldfastError `NOT_FOUND` */
  get(request: RecordRequest): Promise<PinRecord>
  /** Removes a record by its id, and returns it. @throws HoldfastError `NOT_FOUND` */
  discard(request: RecordRequest): Promise<PinRecord>
  /**
   * Returns a page of an account's records, newest first by default.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `INVALID_CID` for a filter
   */
  list(query?: ListQuery): Promise<ListPage>
  /** Yields a whole list, newest first. Concurrent changes neither repeat nor hide other records. */
  all(query?: WholeListQuery): AsyncIterable<ListItem>
  /**
   * Returns the progress of an account's records of a CID, newest first.
   *
   * @throws HoldfastError `PIN_NOT_FOUND`
   */
  status(request: StatusRequest): Promise<PinProgress[]>
  /** Returns an account's newest record of a CID, and its files. @throws HoldfastError `PIN_NOT_FOUND` */
  dag(request: CidRequest): Promise<DirectoryOutcome>
  /** Changes the name or metadata of a record, and returns it. @throws HoldfastError `NOT_FOUND`, `VALIDATION` */
  rename(request: RenameRequest): Promise<PinRecord>
  /** Returns an account's number of live records, and the storage they use. */
  usage(account?: string): Promise<Usage>
  /**
   * Checks the target of a request before its body is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   */
  checkTarget(account: string, target: PinTarget): Promise<void>
}

/** Clusters of an engine and their backends. */
export interface ClusterRegistry {
  /**
   * Returns the clusters in configured order: all, or those that an account may use.
   *
   * @throws HoldfastError `NOT_FOUND` for an unknown account
   */
  list(options?: { account?: string | undefined }): Promise<Cluster[]>
  /** Returns the backend of a cluster, or of the default cluster. @throws HoldfastError `NOT_FOUND` */
  backendOf(cluster?: string): Promise<ClusterBackend>
}

/** Content that the operator has taken down. The gateway refuses it. */
export interface TakedownList {
  /** Returns a page, oldest first. */
  page(request: PageRequest): Promise<Page<Takedown>>
  /**
   * Takes content down. When it resolves, the gateway refuses the content, and the entry is durable. A repeated call
   * replaces reason and status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   */
  add(request: TakedownRequest): Promise<Takedown>
  /**
   * Removes a takedown, so that the content is served again.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if there is no takedown with this CID and path
   */
  remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void>
}

/**
 * The running Helia node, for other Helia packages. It can read pinned content but not delete it. Blocks added through
 * it belong to the host program and are not pinned. The object comes from `@helia/libp2p` and may be cast to that
 * package's `HeliaWithLibp2p`.
 */
export interface HeliaNode {
  /** Pinned blocks, and blocks added by the host program. */
  readonly blockstore: Blockstore
  /** Datastore of the engine, which Helia and the host program share. */
  readonly datastore: Datastore
}

/** HTTP handlers of an engine, for adapters that serve them. */
export interface Border {
  /** Handles the v3 API. */
  readonly api: ApiHandler
  /** Handles `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
  /** Handles `/ipfs/` on an origin of its own, without cookies or keys. Pages are not sandboxed. */
  readonly ownGateway: ApiHandler
  /** Number of reverse proxies between clients and the node, from the configuration. */
  readonly trustedProxies: number
  /** Returns true if the headers of a request name a host that serves content only. */
  isContentHost(header: (name: string) => string | undefined): boolean
}

/** Options of an engine. */
export interface EngineOptions extends EngineConfig {
  /** Directory of all stores. Created if it is missing. Only one engine may own it at a time. */
  dataDir: string
  /** Default: discards all messages. */
  logger?: Logger
  /** Receives finished requests and collections. Default: discards them. */
  metrics?: Metrics
  /** Default: the system clock. */
  clock?: Clock
  /** Values of the environment variables that the configuration names. Default: empty. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Systems that clusters may name as their `backend`. Default: none. */
  adapters?: readonly BackendAdapter[]
  /** Database system for a configuration with `database`: `postgres` of `holdfast/postgres`. Default: none. */
  catalogue?: CatalogueAdapter
  /**
   * Backends of clusters, by cluster id. They replace storage on this node. Content stays on this node, in status
   * `pinning`, until its backend has it. The caller closes a backend after the engine has stopped.
   */
  backends?: Readonly<Record<string, ClusterBackend>>
  /** Replaces `node:fs` for block files. Databases always use `node:fs`. */
  fileSystem?: FileSystem
  /**
   * Size of the process's libuv thread pool, which all engines share. Default 4, as in libuv. Block writes use half at
   * most, so that reads go on. This option does not change the pool: set `UV_THREADPOOL_SIZE` before its first use.
   */
  threadPoolSize?: number
  /** Memory that the process may use, in bytes. Default: that of the machine. */
  memoryBytes?: number
  /**
   * Makes calls of `engine.pins` without an account act for the owner, who is created if missing. Default false: such
   * calls fail with `VALIDATION`, so that a program with many users cannot mix their content by mistake.
   */
  singleUser?: boolean
}

/**
 * A started engine. Engines in one process share no state.
 *
 * @throws HoldfastError `UNAVAILABLE` from every method but `stop` and `announceStop` after the engine has stopped
 */
export interface Engine extends Border, AsyncDisposable {
  /** Pins of accounts. */
  readonly pins: PinService
  /** Reads stored content inside the process. */
  readonly content: Content
  readonly clusters: ClusterRegistry
  readonly accounts: Accounts
  /** API keys of all accounts. */
  readonly keys: Keys
  readonly events: Events
  /** Content that the gateway and peers are refused. */
  readonly takedowns: TakedownList
  /** Absolute path. */
  readonly dataDir: string
  /** Directories that uploads by server path may read. Absolute paths. */
  readonly importRoots: readonly string[]
  /**
   * Sets the public URL of the node, if it is known only after listening. `gateway` is the URL of a gateway with its
   * own address.
   */
  setPublicUrl(url: string, gateway?: string): Promise<void>
  /**
   * Shares reading with another thread of this process. Pass the result to `openReading` in that thread. It then serves
   * like `ownGateway`: removals, takedowns and expiries apply at once, and all threads share one set of slots. Call
   * `startReaders` of `holdfast/node-http` to do this for you.
   *
   * @throws HoldfastError `UNAVAILABLE` for more than 63 threads
   */
  shareReading(): Promise<SharedReading>
  /**
   * Runs a garbage collection now, and returns what it deleted. `graceSeconds` 0 also deletes content released just
   * before. Default: the configured grace period.
   */
  collect(options?: { graceSeconds?: number }): Promise<Collected>
  /**
   * Returns the Helia node, which stops with the engine. @throws HoldfastError `UNAVAILABLE` while networking is off
   */
  helia(): Promise<HeliaNode>
  /** Returns the multiaddrs of this node; none while networking is off. */
  addresses(): Promise<string[]>
  /**
   * Reads every block and checks its hash. Other calls continue. Upload a damaged file again to repair it. Aborting the
   * signal ends the check early, and its findings so far are returned.
   */
  verify(options?: VerifyOptions): Promise<Verified>
  /**
   * Backs up all data into a directory outside the data directory. Other calls continue, but no block is deleted. A
   * repeated run adds only new data. `restoreBackup` creates a data directory from the backup, and `checkBackup`
   * verifies it.
   *
   * @throws HoldfastError `CONFLICT` while another process uses the directory, or for a backup of another node;
   * `CONFLICT` without `force` for a backup with more than twice as many roots; `VALIDATION` for a directory inside the data
   * directory or with other files; `BACKUP_UNUSABLE` for an unreadable manifest
   */
  backup(directory: string, options?: BackupOptions): Promise<BackupOutcome>
  /**
   * Compares records, holds, roots, blocks and files, and repairs inconsistencies. Other calls continue. Pins with lost
   * content become `pinning` until it is fetched again.
   *
   * @throws HoldfastError `CONFLICT` while another reconciliation runs, and, unless `force` is set, if it would release
   * more than 1 % of holds or roots
   */
  reconcile(options?: ReconcileOptions): Promise<Reconciled>
  /** Returns the size and health of the engine. Cheap enough to call every few seconds. */
  stats(): Promise<EngineStats>
  /**
   * Prepares for {@link Engine.stop}. From now on `/ready` answers 503 and other nodes send no new requests. Everything
   * else continues, so that load balancers have time to react.
   */
  announceStop(): Promise<void>
  /** Returns the bytes of blocks on their way to clients, and their limit. */
  answerMemory(): Promise<{ used: number; limit: number }>
  /** Aborts running work and closes all stores. May be called more than once. */
  stop(): Promise<void>
}
