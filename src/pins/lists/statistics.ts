import type { Census } from '../../catalogue/census.ts'
import type { ClusterHealth } from '../../clusters/cluster-watch.ts'
import type { Activity } from '../../concurrency/activity.ts'

/** Number of stored objects, such as blocks, and their total size in bytes. */
export interface StoredAmount {
  count: number
  bytes: number
}

/** Counts, sizes and health of an engine. */
export interface EngineStats {
  accounts: number
  /** Number of records by status. */
  pins: Readonly<Record<'queued' | 'pinning' | 'pinned' | 'failed', number>>
  /** Total number of bytes that count against the quotas of all accounts. */
  accountedBytes: number
  /** Number and size of the DAGs, by state. Garbage collection deletes the `dropped` DAGs. */
  roots: Readonly<Record<'staging' | 'complete' | 'dropped', StoredAmount>>
  /** Number and size of the distinct blocks, by state. */
  blocks: Readonly<Record<'writing' | 'durable' | 'deleting', StoredAmount>>
  /** Number of blocks that no root needs. Garbage collection deletes them. */
  garbageBlocks: number
  /** Time at which the oldest unfinished fetch was requested, in ms since the epoch. Null if no fetch is unfinished. */
  oldestFetchAt: number | null
  /** Size of the database in bytes, including the small blocks stored in it. */
  databaseBytes: number
  /** Disk space of each backend in bytes. The data directory comes first, then the clusters. */
  disks: ReadonlyArray<{ backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }>
  /** Verification of stored blocks: the running round, or else the last round. `endedAt` is in ms since the epoch. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Number of connected peers. */
  peers: number
  /** Connection to the public network. Null if the node is not part of the public network. */
  publicNetwork: 'connected' | 'no-peers' | null
  /** Health of the external systems that keep clusters. */
  clusters: readonly ClusterHealth[]
  /** Milliseconds by which this node's clock is ahead of the PostgreSQL server's clock. Null with SQLite. */
  clockSkewMs: number | null
}

/** Functions of other modules that return the current values. */
export interface StatisticsSources {
  peerCount: () => number
  publicNetwork: () => EngineStats['publicNetwork']
  disks: () => Promise<EngineStats['disks']>
  verification: () => EngineStats['verification']
  clusters: () => Promise<readonly ClusterHealth[]>
  clockSkewMs: () => number | null
}

/**
 * Reads the statistics of an engine. The catalogue updates counters with each change, so a read has a constant cost.
 */
export class Statistics {
  readonly #census: Census
  readonly #activity: Activity
  readonly #sources: StatisticsSources

  constructor(census: Census, activity: Activity, sources: StatisticsSources) {
    this.#census = census
    this.#activity = activity
    this.#sources = sources
  }

  /** Returns the current statistics. @throws HoldfastError `UNAVAILABLE` or `ABORTED` while the engine stops */
  read(): Promise<EngineStats> {
    return this.#activity.run(undefined, () => this.#read())
  }

  async #read(): Promise<EngineStats> {
    const counted = await this.#census.counters()
    const counters = new Map(counted.map(({ kind, state, count, bytes }) => [`${kind} ${state}`, { count, bytes }]))
    const of = (kind: string, state = ''): StoredAmount => counters.get(`${kind} ${state}`) ?? { count: 0, bytes: 0 }
    const pins = (status: string): number => of('records', status).count
    return {
      accounts: of('accounts').count,
      pins: { queued: pins('queued'), pinning: pins('pinning'), pinned: pins('pinned'), failed: pins('failed') },
      accountedBytes: of('accounts').bytes + of('accounts', 'deleted').bytes,
      roots: {
        staging: of('roots', 'staging'),
        complete: of('roots', 'complete'),
        dropped: of('roots', 'dropped'),
      },
      blocks: {
        writing: of('blocks', 'writing'),
        durable: of('blocks', 'durable'),
        deleting: of('blocks', 'deleting'),
      },
      garbageBlocks: of('garbage').count,
      oldestFetchAt: await this.#census.oldestFetchAt(),
      databaseBytes: this.#census.databaseBytes(),
      disks: await this.#sources.disks(),
      verification: this.#sources.verification(),
      peers: this.#sources.peerCount(),
      publicNetwork: this.#sources.publicNetwork(),
      clusters: await this.#sources.clusters(),
      clockSkewMs: this.#sources.clockSkewMs(),
    }
  }
}
