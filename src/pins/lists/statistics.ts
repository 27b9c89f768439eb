import type { Census } from '../../catalogue/census.ts'
import type { ClusterHealth } from '../../clusters/cluster-watch.ts'
import type { Activity } from '../../concurrency/activity.ts'

/** Number of things, and the sum of their bytes. */
export interface StoredAmount {
  count: number
  bytes: number
}

/** Size and health of an engine. */
export interface EngineStats {
  accounts: number
  /** Number of records by status. */
  pins: Readonly<Record<'queued' | 'pinning' | 'pinned' | 'failed', number>>
  /** Bytes counted against quotas, summed over all accounts. */
  accountedBytes: number
  /** DAGs by state. `dropped` ones wait for the collector. */
  roots: Readonly<Record<'staging' | 'complete' | 'dropped', StoredAmount>>
  /** Distinct blocks by state. */
  blocks: Readonly<Record<'writing' | 'durable' | 'deleting', StoredAmount>>
  /** Blocks that the next garbage collection deletes. */
  garbageBlocks: number
  /** When the oldest unfinished fetch was requested, in milliseconds since the epoch; null if there is none. */
  oldestFetchAt: number | null
  /** Size of the database, small blocks included. */
  databaseBytes: number
  /** Disk space of each backend, in bytes: the data directory first, then the clusters. */
  disks: ReadonlyArray<{ backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }>
  /** The running or last round of verification. Times are milliseconds since the epoch. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Connected peers. */
  peers: number
  /** Connection to the public network; null if the node is not part of it. */
  publicNetwork: 'connected' | 'no-peers' | null
  /** State of the external systems that keep clusters. */
  clusters: readonly ClusterHealth[]
  /** Milliseconds by which this node's clock is ahead of the PostgreSQL server; null with SQLite. */
  clockSkewMs: number | null
}

/** Values that other modules report at the time of the call. */
export interface StatisticsSources {
  peerCount: () => number
  publicNetwork: () => EngineStats['publicNetwork']
  disks: () => Promise<EngineStats['disks']>
  verification: () => EngineStats['verification']
  clusters: () => Promise<readonly ClusterHealth[]>
  clockSkewMs: () => number | null
}

/** Reads the size of an engine. Counters change with the data, so a read costs the same at any size. */
export class Statistics {
  readonly #census: Census
  readonly #activity: Activity
  readonly #sources: StatisticsSources

  constructor(census: Census, activity: Activity, sources: StatisticsSources) {
    this.#census = census
    this.#activity = activity
    this.#sources = sources
  }

  /** @throws HoldfastError `UNAVAILABLE` or `ABORTED` while the engine stops */
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
