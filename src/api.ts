import type { Blockstore } from 'interface-blockstore'
import type { Datastore } from 'interface-datastore'
import type { Accounts } from './access/accounts/accounts.ts'
import type { Keys } from './access/keys/keys.ts'
import type { SignInAdapter } from './access/sign-in/identity-provider.ts'
import type { BackupOptions, BackupOutcome } from './backup/back-up.ts'
import type { CatalogueAdapter } from './catalogue/catalogue-adapter.ts'
import type { ListedNode, LostRecord } from './catalogue/fleet.ts'
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
import type { PendingNode } from './domain/pending-nodes.ts'
import type { BulkJobs } from './features/bulk/bulk-jobs.ts' // feature: bulk
import type { Takedown, TakedownRequest } from './gateway/policy/takedowns.ts'
import type { Content } from './gateway/reader/content-request.ts'
import type { SharedReading } from './gateway/source/shared-reading.ts'
import type { ApiHandler, ApiRequest } from './http/api-messages.ts'
import type { Events } from './pins/events.ts'
import type { EngineStats } from './pins/lists/statistics.ts'
import type { PinService } from './pins/public-pin-service.ts'
import type { Reconciled, ReconcileOptions } from './upkeep/findings.ts'

export type { PinService }

/** Clusters of an engine, and the backends that keep their content. */
export interface ClusterRegistry {
  /**
   * Returns the clusters in configured order. With an account, returns only the clusters that the account may use.
   * @throws HoldfastError `NOT_FOUND` for an unknown account
   * @example const ids = (await engine.clusters.list({ account })).map(({ id }) => id)
   */
  list(options?: { account?: string | undefined }): Promise<Cluster[]>
  /**
   * Returns the backend of a cluster, by default that of the default cluster.
   * @throws HoldfastError `NOT_FOUND`
   * @example const backend = await engine.clusters.backendOf('cl1-eu')
   */
  backendOf(cluster?: string): Promise<ClusterBackend>
}

/** The nodes that share the catalogue. */
export interface NodeDirectory {
  /**
   * Returns the nodes in the order of their numbers, also those that have ended. Empty for a single node.
   * @throws HoldfastError `UNAVAILABLE` if the database cannot be reached
   * @example const down = (await engine.nodes.list()).filter(({ isThere }) => !isThere)
   */
  list(): Promise<ListedNode[]>
  /**
   * Begins to move the content of a node to the node `to`, or changes that node. The move runs in the background, and
   * {@link list} shows its progress. At the end the node is `retired`, and may be stopped.
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a node is down, a node was started with a cluster on the retiring
   * node, or its content is on another system
   * @example await engine.nodes.retire('c', { to: 'b' })
   */
  retire(id: string, options: { to: string }): Promise<void>
  /**
   * Gives up a node whose disk is gone. The nodes of its clusters take over its records in the background. Content that
   * nobody has becomes `failed`.
   * @param options.isReplaced true if a new, empty directory will run under the id
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a process runs as the node, or a configuration still names it
   * @example await engine.nodes.forget('c')
   */
  forget(id: string, options?: { isReplaced?: boolean | undefined }): Promise<void>
  /**
   * Has other nodes copy what nodes have that stay away. They wait for this call while more than one node of a cluster with
   * several copies is away.
   * @throws HoldfastError `NOT_FOUND` for a node without copies; `CONFLICT` for a node that is up
   * @example await engine.nodes.away(['b', 'c'])
   */
  away(ids: readonly string[]): Promise<void>
  /**
   * Returns a page of the records whose content was lost with a node and is not complete again, by account.
   * @example const { rows } = await engine.nodes.lost({ after: null, limit: 100 })
   */
  lost(request: PageRequest & { account?: string | undefined }): Promise<Page<LostRecord>>
}

/** Content that the operator has taken down. The gateway and the peer exchange do not serve this content. */
export interface TakedownList {
  /**
   * Returns a page of the takedowns, oldest first.
   * @example const { rows, next } = await engine.takedowns.page({ after: null, limit: 100 })
   */
  page(request: PageRequest): Promise<Page<Takedown>>
  /**
   * Takes content down. When the promise resolves, the entry is durable, and responses with the content have ended. In
   * the result, `pending` names the nodes and gateway threads that may still serve the content. A repeated call replaces
   * the reason and the status.
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   * @example await engine.takedowns.add({ cid, reason: 'court order 12/34', status: 451 })
   */
  add(request: TakedownRequest): Promise<Takedown & { pending: PendingNode[] }>
  /**
   * Lifts a takedown. `pending` names the nodes and gateway threads that may still refuse the content.
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if there is no takedown with this CID and path
   * @example await engine.takedowns.remove({ cid })
   */
  remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<{ pending: PendingNode[] }>
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
  /**
   * Returns the base URL of the gateway to which `gateway` redirects the documents, frames and workers of browsers. Null
   * if content shares the origin of the request. Pass the request as the client sent it.
   * @example const base = engine.documentsAt({ scheme: 'http', header: name => request.headers.get(name) ?? undefined })
   */
  documentsAt(request: Pick<ApiRequest, 'header' | 'scheme'>): string | null
  /** Name of the sign-in provider. Null if there is none. */
  readonly signInProvider: string | null
  /**
   * Returns whether the headers of a request name a host that serves only content.
   * @example const servesOnlyContent = engine.isContentHost(name => request.headers.get(name) ?? undefined)
   */
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
  /** With `oidc` in the configuration: `oidc` from `holdfast/oidc`. */
  signIn?: SignInAdapter
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
  // feature: bulk
  /** Changes of many pins at once. */
  readonly jobs: BulkJobs
  // end
  /** Reads stored content without HTTP. */
  readonly content: Content
  readonly clusters: ClusterRegistry
  readonly accounts: Accounts
  readonly keys: Keys
  readonly events: Events
  readonly takedowns: TakedownList
  readonly nodes: NodeDirectory
  /** Absolute path. */
  readonly dataDir: string
  /** Absolute paths of the directories that an import by path may read. */
  readonly importRoots: readonly string[]
  /**
   * Sets the public URL of the node and of a gateway with its own address. Call this if the URL is known only after the
   * server listens.
   * @example await engine.setPublicUrl('https://app.example.org/storage')
   */
  setPublicUrl(url: string, gateway?: string): Promise<void>
  /**
   * Names the port of this machine that serves only `ownGateway`. On loopback hosts, `gateway` then redirects documents
   * to this port, unless `gateway.publicUrl` is set.
   * @example await engine.setGatewayPort(4101)
   */
  setGatewayPort(port: number): Promise<void>
  /**
   * Lets another thread serve the content of this engine, like `ownGateway`. Pass the result to `openReading`, or call
   * `startReaders` from `holdfast/node-http`.
   * @throws HoldfastError `UNAVAILABLE` for more than 63 threads
   * @example const { data, port } = await engine.shareReading()
   */
  shareReading(): Promise<SharedReading>
  /**
   * Runs a garbage collection now. `graceSeconds: 0` also deletes content released just before. Default: the configured
   * grace period. `endUndo: true` first ends all undo periods, whose content otherwise stays: `keptBytes` of the result.
   * @example const { blocks } = await engine.collect({ graceSeconds: 0 })
   */
  collect(options?: { graceSeconds?: number; endUndo?: boolean }): Promise<Collected & { keptBytes: number }>
  /**
   * Returns the Helia node, which stops with the engine.
   * @throws HoldfastError `UNAVAILABLE` if networking is off
   * @example const { blockstore } = await engine.helia()
   */
  helia(): Promise<HeliaNode>
  /**
   * Returns the multiaddrs of this node, or none if networking is off.
   * @example const multiaddrs = await engine.addresses()
   */
  addresses(): Promise<string[]>
  /**
   * Checks the hash of every block. To repair a damaged file, upload it again. If the signal aborts, returns the
   * findings so far.
   * @example const { damagedBlocks } = await engine.verify({ signal: AbortSignal.timeout(60_000) })
   */
  verify(options?: VerifyOptions): Promise<Verified>
  /**
   * Backs up all data. Other calls continue, but no block is deleted. A repeated run adds only new data. See
   * `restoreBackup` and `checkBackup`.
   * @throws HoldfastError `CONFLICT` while another process uses the directory, or for a backup of another node;
   * `CONFLICT` without `force` if the backup has more than twice as many roots as this node; `VALIDATION` for a
   * rate that is not above 0, and for a directory inside the data directory or with other files; `BACKUP_UNUSABLE`
   * for an unreadable manifest
   * @example await engine.backup('/backups/app', { bytesPerSecond: 10_000_000 })
   */
  backup(directory: string, options?: BackupOptions): Promise<BackupOutcome>
  /**
   * Compares records, holds, roots, blocks and files, and repairs inconsistencies. Pins with lost content become
   * `pinning` until the content is fetched again.
   * @throws HoldfastError `CONFLICT` while another reconciliation runs; `CONFLICT` without `force` if the repair would
   * release more than 1 % of all holds or roots
   * @example const { findings } = await engine.reconcile({ dryRun: true })
   */
  reconcile(options?: ReconcileOptions): Promise<Reconciled>
  /**
   * Returns the size and health of the engine, cheaply enough to repeat every few seconds.
   * @example const stats = await engine.stats()
   */
  stats(): Promise<EngineStats>
  /**
   * Prepares for {@link Engine.stop}. From now on `/ready` answers 503, and other nodes send no new requests. Ends
   * running verifications, backups and reconciliations with `ABORTED`. All other calls continue.
   *
   * With `noticeMs`, resolves once load balancers that ask `/ready`, and other nodes, have had time to react, after
   * `noticeMs` at the latest. Without either, resolves at once.
   * @example await engine.announceStop({ noticeMs: 30_000 })
   */
  announceStop(options?: { noticeMs?: number }): Promise<void>
  /**
   * Resolves when the gateway responses of other nodes that read from this node at the time of the call have ended. With
   * `isLast`, other nodes begin no more. Resolves at once for a single node, and soon after the signal aborts.
   * @example await engine.readsEnded({ signal: AbortSignal.timeout(60_000) })
   */
  readsEnded(options?: { isLast?: boolean; signal?: AbortSignal }): Promise<void>
  /**
   * Returns the bytes of all blocks that are being sent to clients, and their limit.
   * @example const { used, limit } = await engine.answerMemory()
   */
  answerMemory(): Promise<{ used: number; limit: number }>
  /**
   * Aborts running work and closes all stores. Repeated calls are allowed.
   * @example await engine.stop()
   */
  stop(): Promise<void>
}
