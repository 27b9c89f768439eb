import { setImmediate as breathe } from 'node:timers/promises'
import type { CensusTable, Slice, StateCount } from '../catalogue/sqlite/census-table.ts'
import type { Activity } from '../domain/activity.ts'
import type { Clock } from '../domain/clock.ts'

type Count = Omit<StateCount, 'state'>

/** How much an engine holds. */
export interface EngineStats {
  accounts: number
  /** Records by status. */
  pins: Readonly<Record<'queued' | 'pinning' | 'pinned' | 'failed', number>>
  /** What counts against the quotas of all accounts together. */
  accountedBytes: number
  /** DAGs by state; `dropped` ones wait for the collector. */
  roots: Readonly<Record<'staging' | 'complete' | 'dropped', Count>>
  /** Distinct blocks by state. */
  blocks: Readonly<Record<'writing' | 'durable' | 'deleting', Count>>
  /** Blocks that the collector will take, counted up to 100,000. */
  garbageBlocks: number
  /** Of the database, small blocks included. */
  databaseBytes: number
  /** Room where blocks are, in bytes, by backend: the data directory first, then those of clusters. */
  disks: ReadonlyArray<{ backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }>
  /** Connected ones. */
  peers: number
}

/** What is asked of others when it is wanted. */
export interface StatisticsSources {
  peerCount: () => number
  disks: () => Promise<EngineStats['disks']>
}

const SLICE_ROWS = 2_000
const MOST_GARBAGE = 100_000
/** For so long blocks and roots are not counted again. */
const FRESH_MS = 30_000

interface Census {
  at: number
  roots: EngineStats['roots']
  blocks: EngineStats['blocks']
}

/** Counts what there is, at a pace that holds nobody up. */
export class Statistics {
  readonly #table: CensusTable
  readonly #activity: Activity
  readonly #clock: Clock
  readonly #sources: StatisticsSources
  #census: Promise<Census> | null = null

  constructor(table: CensusTable, activity: Activity, clock: Clock, sources: StatisticsSources) {
    this.#table = table
    this.#activity = activity
    this.#clock = clock
    this.#sources = sources
  }

  /**
   * Blocks and roots may be half a minute old, the rest is of now.
   *
   * @throws HoldfastError `UNAVAILABLE` or `ABORTED` while everything stops.
   */
  read(): Promise<EngineStats> {
    return this.#activity.run(undefined, signal => this.#read(signal))
  }

  async #read(signal: AbortSignal): Promise<EngineStats> {
    const { roots, blocks } = await this.#recentCensus(signal)
    signal.throwIfAborted()
    const { accounts, pins, bytes } = this.#table.accounts()
    const unfinished = { queued: 0, pinning: 0, failed: 0 }
    for (const { status, count } of this.#table.unfinished()) {
      if (status in unfinished) unfinished[status as keyof typeof unfinished] = count
    }
    const pinned = Math.max(0, pins - unfinished.queued - unfinished.pinning - unfinished.failed)
    const garbageBlocks = this.#table.garbage(MOST_GARBAGE)
    const held = { accounts, pins: { ...unfinished, pinned }, accountedBytes: bytes }
    const databaseBytes = this.#table.databaseBytes()
    const disks = await this.#sources.disks()
    return { ...held, roots, blocks, garbageBlocks, databaseBytes, disks, peers: this.#sources.peerCount() }
  }

  async #recentCensus(signal: AbortSignal): Promise<Census> {
    const known = await this.#census?.catch(() => null)
    if (known !== null && known !== undefined && this.#clock.now() - known.at < FRESH_MS) return known
    this.#census = this.#take(signal)
    return this.#census
  }

  async #take(signal: AbortSignal): Promise<Census> {
    const at = this.#clock.now()
    const roots = { staging: none(), complete: none(), dropped: none() }
    const blocks = { writing: none(), durable: none(), deleting: none() }
    await count(roots, signal, after => this.#table.rootsAfter(after, SLICE_ROWS))
    await count(blocks, signal, after => this.#table.blocksAfter(after, SLICE_ROWS))
    return { at, roots, blocks }
  }
}

function none(): Count {
  return { count: 0, bytes: 0 }
}

async function count(
  into: Record<string, Count>,
  signal: AbortSignal,
  sliceAfter: (id: number) => Slice,
): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    signal.throwIfAborted()
    const { counts, next } = sliceAfter(after)
    for (const { state, count, bytes } of counts) {
      const sum = into[state]
      if (sum === undefined) continue
      sum.count += count
      sum.bytes += bytes
    }
    after = next
    if (after !== null) await breathe()
  }
}
