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
 * What an account does with its content: upload, pin, list, remove. The facade that every surface goes through.
 *
 * @throws HoldfastError of every method: `VALIDATION` without an account, `NOT_FOUND` for one that there is not,
 * `UNAVAILABLE` once the engine stops.
 */
export interface PinService {
  /**
   * Stores one file and pins it. Resolves when everything is durable; on failure nothing of it stays.
   *
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `NOT_FOUND` for the account, `STORAGE_FULL`, `ABORTED`; and what the
   * source throws.
   */
  upload(content: ByteSource, options?: UploadOptions): Promise<PinOutcome>
  /**
   * Stores files as one directory and pins its root. Entries are read one after the other.
   *
   * @throws HoldfastError what {@link PinService.upload} throws, `DIRECTORY_TOO_LARGE`, and `INVALID_PATH` naming a path.
   */
  uploadDirectory(entries: DirectoryEntries, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores a directory that this machine has, below an import root, and pins it.
   *
   * @throws HoldfastError what {@link PinService.uploadDirectory} throws
   */
  importDirectory(dirPath: string, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores the DAGs of a CAR and pins its roots, all or none. Blocks that no root needs are not kept; blocks that a
   * live record of this node needs may be missing in the CAR. Resolves when everything is durable.
   *
   * @throws HoldfastError what {@link PinService.upload} throws, `DIRECTORY_TOO_LARGE` for the size of the CAR,
   * `INVALID_CID` for what the node cannot walk or check; `NOT_OFFERED` or `CONFLICT` for a root that cannot be kept
   * in part.
   */
  importCar(source: ByteSource, options?: CarImportOptions): Promise<CarOutcome>
  /**
   * Pins content that exists, by its CID.
   *
   * @throws HoldfastError `INVALID_CID`, `CID_NOT_FOUND`, `QUOTA_EXCEEDED`, and those of target and names.
   */
  pin(request: PinRequest): Promise<PinOutcome>
  /**
   * Removes an account's records of a content, in one cluster or in all. Durable when it resolves.
   *
   * @throws HoldfastError `PIN_NOT_FOUND` if there is none, a malformed CID included.
   */
  remove(request: CidRequest): Promise<PinRecord[]>
  /** A record by its id. @throws HoldfastError `NOT_FOUND` */
  get(request: RecordRequest): Promise<PinRecord>
  /** Removes one record by its id. Returns it. @throws HoldfastError `NOT_FOUND` */
  discard(request: RecordRequest): Promise<PinRecord>
  /**
   * One page of an account's records, newest first unless the query says otherwise.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `INVALID_CID` for a filter
   */
  list(query?: ListQuery): Promise<ListPage>
  /** A list to its end, newest first: records that come or go meanwhile neither repeat nor hide another. */
  all(query?: WholeListQuery): AsyncIterable<ListItem>
  /**
   * How far each of an account's records of a content is, newest first.
   *
   * @throws HoldfastError `PIN_NOT_FOUND`
   */
  status(request: StatusRequest): Promise<PinProgress[]>
  /** An account's newest record of a content with its files. @throws HoldfastError `PIN_NOT_FOUND` */
  dag(request: CidRequest): Promise<DirectoryOutcome>
  /** Gives a record another name, or other meta. Returns it as it is now. @throws HoldfastError `NOT_FOUND`, `VALIDATION` */
  rename(request: RenameRequest): Promise<PinRecord>
  /** Live records of an account, and what they take of its storage. */
  usage(account?: string): Promise<Usage>
  /**
   * Checks what a request says of its target before its body is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   */
  checkTarget(account: string, target: PinTarget): Promise<void>
}

/** The clusters of an engine, and which backend keeps the content of each. */
export interface ClusterRegistry {
  /**
   * The clusters in configured order; those that an account may use, where one is given.
   *
   * @throws HoldfastError `NOT_FOUND` for an unknown account.
   */
  list(options?: { account?: string | undefined }): Promise<Cluster[]>
  /** The backend of a cluster; without an id, of the default one. @throws HoldfastError `NOT_FOUND` */
  backendOf(cluster?: string): Promise<ClusterBackend>
}

/** What the gateway refuses at the owner's word. */
export interface TakedownList {
  /** The oldest first. */
  page(request: PageRequest): Promise<Page<Takedown>>
  /**
   * Takes content down. When this resolves the gateway refuses it, and goes on doing so after a power cut. What has
   * been taken down before gets the new reason and status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   */
  add(request: TakedownRequest): Promise<Takedown>
  /**
   * Lets content be served again.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if it is not taken down by that CID and path.
   */
  remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void>
}

/**
 * The running Helia node, for other Helia packages. It sees what is pinned, and cannot delete it; what is added through
 * it is the host program's own and counts as nobody's pin. It is the object of `@helia/libp2p`: whoever has that
 * package may use it as its `HeliaWithLibp2p`.
 */
export interface HeliaNode {
  /** What is pinned, and what the host program has put in. */
  readonly blockstore: Blockstore
  /** That of the engine, in which Helia and the host program have keys of their own. */
  readonly datastore: Datastore
}

/** What an engine shows to those who serve it. */
export interface Border {
  /** The v3 contract, without a socket. */
  readonly api: ApiHandler
  /** `/ipfs/<cid>/<path>`, without a socket. */
  readonly gateway: ApiHandler
  /** The same for an origin that serves nothing else, and holds no cookies or keys: pages are not sandboxed there. */
  readonly ownGateway: ApiHandler
  /** How many proxies stand between the clients and the node, by its configuration. */
  readonly trustedProxies: number
  /** Whether a request, known by its headers, is for content on a host name of its own, where nothing else answers. */
  isContentHost(header: (name: string) => string | undefined): boolean
}

/** What an engine is made of. */
export interface EngineOptions extends EngineConfig {
  /** Directory of all stores; created if missing, owned by one engine at a time. */
  dataDir: string
  /** Default: one that says nothing. */
  logger?: Logger
  /** Told of requests and collections as they end. Default: nobody. */
  metrics?: Metrics
  /** Default: the system's. */
  clock?: Clock
  /** Where the names of environment variables in the configuration are looked up. Default: nowhere. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Kinds of systems that clusters of the configuration may name as their `backend`. Default: none. */
  adapters?: readonly BackendAdapter[]
  /** The database system of a configuration with `database`: `postgres` of `holdfast/postgres`. Default: none. */
  catalogue?: CatalogueAdapter
  /**
   * Who keeps the content of clusters in place of this node, by cluster id. What has still to get there is kept here
   * meanwhile, and its records are `pinning`; the caller ends a backend once the engine has stopped.
   */
  backends?: Readonly<Record<string, ClusterBackend>>
  /** What blocks are written and read with instead of `node:fs`. The databases keep to `node:fs`. */
  fileSystem?: FileSystem
  /**
   * Threads of the process's libuv pool, which every engine in it shares; default 4, libuv's own. Block writes take
   * at most half of them, so that reads and hashes are not held up. Only the process can set the pool's size, by
   * `UV_THREADPOOL_SIZE` before its first use.
   */
  threadPoolSize?: number
  /**
   * Has calls of `engine.pins` that name no account be the owner's, who is made if there is none. Default false: they
   * are `VALIDATION`, so that no mistake of a program with many users puts content where everybody's would be.
   */
  singleUser?: boolean
}

/**
 * A started engine. Everything below it is its own: two engines in one process do not see each other.
 *
 * @throws HoldfastError of every method but `stop` and `announceStop`: `UNAVAILABLE` once the engine stops.
 */
export interface Engine extends Border, AsyncDisposable {
  /** What accounts do with their content. */
  readonly pins: PinService
  /** What is stored, read in the process. */
  readonly content: Content
  readonly clusters: ClusterRegistry
  readonly accounts: Accounts
  /** The API keys of all accounts. */
  readonly keys: Keys
  readonly events: Events
  /** What the gateway and peers do not get. */
  readonly takedowns: TakedownList
  /** Absolute. */
  readonly dataDir: string
  /** Directories below which uploads by server path may read; absolute. */
  readonly importRoots: readonly string[]
  /**
   * Tells where clients reach the node, where that is known only once it listens; and where readers reach a gateway that
   * has an address of its own.
   */
  setPublicUrl(url: string, gateway?: string): Promise<void>
  /**
   * Shares reading with another thread of this process, which opens it by `openReading` and then serves by the same rules
   * as `ownGateway`: what is removed, taken down or has expired here is so there, and both together have the places of
   * one gateway. `startReaders` of `holdfast/node-http` is made of this.
   *
   * @throws HoldfastError `UNAVAILABLE` for the 64th
   */
  shareReading(): Promise<SharedReading>
  /**
   * Frees what no record needs any more, now, and returns what that was. `graceSeconds` 0 also frees what was let go
   * just before; the default is the configured grace.
   */
  collect(options?: { graceSeconds?: number }): Promise<Collected>
  /** The Helia node of this engine, which ends with it. @throws HoldfastError `UNAVAILABLE` while networking is off */
  helia(): Promise<HeliaNode>
  /** Multiaddrs by which other nodes reach this one; none while networking is off. */
  addresses(): Promise<string[]>
  /**
   * Reads every block and checks its hash, while everything else goes on. Uploading damaged content heals it. The
   * signal ends it early, with what has been found by then.
   */
  verify(options?: VerifyOptions): Promise<Verified>
  /**
   * Backs up everything into a directory outside the data directory, while everything else goes on; nothing is deleted
   * meanwhile. Repeated, it adds what is new. `restoreBackup` makes a data directory of it.
   *
   * `checkBackup` reads all of it.
   *
   * @throws HoldfastError `CONFLICT` while another process uses the directory, for the backup of another node, and for
   * one with more than twice as many roots, unless `force` is set; `VALIDATION` for a directory inside the data
   * directory, or one that holds anything else; `BACKUP_UNUSABLE` for one whose manifest cannot be read
   */
  backup(directory: string, options?: BackupOptions): Promise<BackupOutcome>
  /**
   * Compares records, holds, roots, blocks and files both ways and puts right what does not fit together, while
   * everything else goes on: pins whose content is lost are `pinning` until it is fetched again.
   *
   * @throws HoldfastError `CONFLICT` while another one runs, and if more than one in a hundred holds or roots would be
   * released, unless `force` is set
   */
  reconcile(options?: ReconcileOptions): Promise<Reconciled>
  /** How much it holds. Cheap enough to be asked every few seconds. */
  stats(): Promise<EngineStats>
  /**
   * Has `/ready` answer 503 from now on, and other nodes ask nothing new of this one, while everything else goes on: for
   * whoever sends work here to stop doing so before {@link Engine.stop}.
   */
  announceStop(): Promise<void>
  /** Ends what is under way, closes all stores. Safe to call more than once. */
  stop(): Promise<void>
}
