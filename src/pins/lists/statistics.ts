import type { Census } from '../../catalogue/census.ts'
import type { ClusterHealth } from '../../clusters/cluster-watch.ts'
import type { Activity } from '../../concurrency/activity.ts'

/** How many there are of something, and their bytes together. */
export interface StoredAmount {
  count: number
  bytes: number
}

/** How much an engine holds. */
export interface EngineStats {
  accounts: number
  /** Records by status. */
  pins: Readonly<Record<'queued' | 'pinning' | 'pinned' | 'failed', number>>
  /** What counts against the quotas of all accounts together. */
  accountedBytes: number
  /** DAGs by state; `dropped` ones wait for the collector. */
  roots: Readonly<Record<'staging' | 'complete' | 'dropped', StoredAmount>>
  /** Distinct blocks by state. */
  blocks: Readonly<Record<'writing' | 'durable' | 'deleting', StoredAmount>>
  /** Blocks that the collector will take. */
  garbageBlocks: number
  /** Since when the oldest fetch is wanted that is still tried, in milliseconds since the epoch; null if none is. */
  oldestFetchAt: number | null
  /** Of the database, small blocks included. */
  databaseBytes: number
  /** Room where blocks are, in bytes, by backend: the data directory first, then those of clusters. */
  disks: ReadonlyArray<{ backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }>
  /** Of the round of verification under way or, between two, the last one; times in milliseconds since the epoch. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Connected ones. */
  peers: number
  /** Whether the public network has peers for this node; null if the node does not belong to it. */
  publicNetwork: 'connected' | 'no-peers' | null
  /** The places that keep clusters elsewhere. */
  clusters: readonly ClusterHealth[]
  /** Milliseconds by which this node's clock is ahead of that of the PostgreSQL database; null without one. */
  clockSkewMs: number | null
}

/** What is asked of others when it is wanted. */
export interface StatisticsSources {
  peerCount: () => number
  publicNetwork: () => EngineStats['publicNetwork']
  disks: () => Promise<EngineStats['disks']>
  verification: () => EngineStats['verification']
  clusters: () => Promise<readonly ClusterHealth[]>
  clockSkewMs: () => number | null
}

/** Tells how much there is: everything is counted as it changes, so asking costs the same however much there is. */
export class Statistics {
  readonly #census: Census
  readonly #activity: Activity
  readonly #sources: StatisticsSources

  constructor(census: Census, activity: Activity, sources: StatisticsSources) {
    this.#census = census
    this.#activity = activity
    this.#sources = sources
  }

  /** @throws HoldfastError `UNAVAILABLE` or `ABORTED` while everything stops. */
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
