import type { Census } from '../../catalogue/census.ts'
import type { CopyCounts } from '../../catalogue/copies.ts'
import type { ClusterHealth } from '../../clusters/cluster-watch.ts'
import type { Activity } from '../../concurrency/activity.ts'
import type { AnnouncementBacklog } from '../announcer.ts'

/** Number and total size in bytes of stored objects, such as blocks. */
export interface StoredAmount {
  count: number
  bytes: number
}

/** Counts, sizes and health of an engine. */
export interface EngineStats {
  accounts: number
  pins: Readonly<Record<'queued' | 'pinning' | 'pinned' | 'failed', number>>
  /** Bytes that count against the quotas, across all accounts. */
  accountedBytes: number
  /** Bytes of DAGs that only deleted records name, in their undo period, across all accounts. */
  keptBytes: number
  /** Garbage collection deletes the `dropped` DAGs. */
  roots: Readonly<Record<'staging' | 'complete' | 'dropped', StoredAmount>>
  /** Distinct blocks, by state. */
  blocks: Readonly<Record<'writing' | 'durable' | 'deleting', StoredAmount>>
  /** Blocks that no root needs. Garbage collection deletes them. */
  garbageBlocks: number
  /** In ms since the epoch. */
  oldestFetchAt: number | null
  /** Includes the small blocks stored in the database. */
  databaseBytes: number
  /** Disk space in bytes. The data directory comes first, then the clusters. */
  disks: ReadonlyArray<{ backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }>
  /**
   * The running verification round, or else the last round. `endedAt` is in ms since the epoch. A round is behind its
   * schedule by `behindMs`.
   */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null; behindMs: number }
  /** The newest backup below `backupRoots`, in ms since the epoch. Null without `backupRoots`, or before the first look. */
  backups: { newestAt: number | null } | null
  peers: number
  /** Null if the node is not part of the public network. */
  publicNetwork: 'connected' | 'no-peers' | null
  /** Null if the node announces nothing. */
  announcements: AnnouncementBacklog | null
  clusters: readonly ClusterHealth[]
  /** The copies of this node, for content of other nodes. Null if no cluster wants several copies. */
  copies: CopyCounts | null
  /** Milliseconds by which this node's clock is ahead of the PostgreSQL server's clock. Null with SQLite. */
  clockSkewMs: number | null
}

export interface StatisticsSources {
  keptBytes: () => Promise<number>
  peerCount: () => number
  publicNetwork: () => EngineStats['publicNetwork']
  announcements: () => AnnouncementBacklog | null
  disks: () => Promise<EngineStats['disks']>
  verification: () => EngineStats['verification']
  backups: () => EngineStats['backups']
  clusters: () => Promise<readonly ClusterHealth[]>
  copies: () => Promise<CopyCounts | null>
  clockSkewMs: () => number | null
}

/** The catalogue updates counters with each change, which gives each read a constant cost. */
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
      keptBytes: await this.#sources.keptBytes(),
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
      backups: this.#sources.backups(),
      peers: this.#sources.peerCount(),
      publicNetwork: this.#sources.publicNetwork(),
      announcements: this.#sources.announcements(),
      clusters: await this.#sources.clusters(),
      copies: await this.#sources.copies(),
      clockSkewMs: this.#sources.clockSkewMs(),
    }
  }
}
