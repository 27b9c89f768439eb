import { traced } from '../concurrency/traced.ts'
import { underName } from '../concurrency/work.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import type { StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BlockStore } from './block-store.ts'
import type { FailedDeletion } from './deletion.ts'
import type { Leases } from './leases.ts'
import { StrayFiles } from './stray-files.ts'

/** Result of a garbage collection. */
export interface Collected {
  /** Number of dropped roots whose rows were deleted. */
  roots: number
  /** Number of deleted blocks, and their total size in bytes. */
  blocks: number
  bytes: number
}

export interface CollectorParts {
  ledger: Ledger
  /** By backend id. */
  stores: ReadonlyMap<number, BlockStore>
  leases: Leases
  clock: Clock
  logger: Logger
  metrics?: Pick<Metrics, 'finished'>
  /** Default time in ms before garbage is deleted. */
  graceMs: number
  intervalMs: number
  /** Gives some free pages of the database back to the file system. Resolves with the number of free pages left. */
  giveBackPages: () => Promise<number>
  onCollected?: (freed: Collected) => void
}

/**
 * Deletes the blocks that no root needs, after a grace period. A collection runs in small batches, and its cost depends
 * only on what it deletes.
 */
export class Collector {
  readonly #parts: CollectorParts
  readonly #strays: StrayFiles
  #running: Promise<Collected> | null = null
  #cancelTimer: (() => void) | null = null
  #stopped = false
  /** Callers of {@link hold} that still pause deletions. */
  #holds = 0
  #released = Promise.withResolvers<void>()

  constructor(parts: CollectorParts) {
    this.#parts = parts
    this.#strays = new StrayFiles(parts.stores)
  }

  /** Finishes the deletions of an earlier process, then collects at intervals. */
  async start(): Promise<void> {
    await this.#deleteFiles(await this.#parts.ledger.recover()).catch((error: unknown) =>
      this.#parts.logger.error({ err: error }, 'cannot finish interrupted deletions; the next collection repeats them'),
    )
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#released.resolve()
    this.#cancelTimer?.()
    await this.#running?.catch(() => undefined)
  }

  /** Pauses all deletions until the caller calls the returned function, which must be called exactly once. */
  async hold(): Promise<() => void> {
    if (this.#holds++ === 0) this.#released = Promise.withResolvers()
    await this.#running?.catch(() => undefined)
    return () => {
      if (--this.#holds === 0) this.#released.resolve()
    }
  }

  async unsettled(): Promise<string[]> {
    return this.#running === null ? [] : ['collection']
  }

  /** True while a backup stops all deletions. */
  get isHeld(): boolean {
    return this.#holds > 0
  }

  /** Collects until no garbage older than `graceMs` remains. */
  async collect(graceMs: number = this.#parts.graceMs): Promise<Collected> {
    // A running collection may miss the newest garbage, so wait for its end and start another.
    while (this.#running !== null || (this.#holds > 0 && !this.#stopped)) {
      await (this.#running?.catch(() => undefined) ?? this.#released.promise)
    }
    const run = (): Promise<Collected> => this.#collect(graceMs)
    this.#running = traced('collection', this.#parts, run, freed => ({ ...freed })).finally(() => {
      this.#running = null
    })
    return this.#running
  }

  get #ends(): boolean {
    return this.#stopped || this.#holds > 0
  }

  async #collect(graceMs: number): Promise<Collected> {
    const collected: Collected = { roots: 0, blocks: 0, bytes: 0 }
    // Retry deletions that failed in an earlier collection.
    await this.#deleteFiles(this.#parts.ledger.deleting().filter(({ backendId }) => this.#parts.stores.has(backendId)))
    // Roots dropped after this point wait for the next collection. Otherwise this collection might never end.
    const lastRoot = this.#parts.ledger.lastRoot()
    const nextRoots = (): number[] =>
      this.#ends ? [] : this.#parts.ledger.droppedRoots(() => this.#parts.leases.held(), lastRoot)
    for (let roots = nextRoots(); roots.length > 0; roots = nextRoots()) {
      while (!this.#ends && roots.length > 0) {
        const gone = await this.#parts.ledger.releaseBatch(roots, this.#parts.clock.now())
        roots.splice(0, gone)
        collected.roots += gone
      }
    }
    for (let more = true; more && !this.#ends; ) {
      const now = this.#parts.clock.now()
      const batch = await this.#parts.ledger.takeGarbage(now - graceMs, now)
      const kept = await this.#deleteFiles(batch.files)
      collected.blocks += batch.blocks - kept.length
      collected.bytes += kept.reduce((bytes, block) => bytes - block.size, batch.bytes)
      more = batch.more
    }
    if (!this.#ends) await this.#removeStrays()
    await this.#giveBackPages()
    this.#parts.onCollected?.(collected)
    return collected
  }

  async #giveBackPages(): Promise<void> {
    for (let left = Number.POSITIVE_INFINITY, more = true; more && !this.#ends; ) {
      const now = await this.#parts.giveBackPages()
      more = now > 0 && now < left
      left = now
    }
  }

  async #removeStrays(): Promise<void> {
    const strays = await this.#strays.next().catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'cannot search for block files without a row')
      return []
    })
    if (strays.length === 0) return
    this.#parts.logger.warn({ files: strays.length }, 'removing block files without a row in the ledger')
    await this.#deleteFiles(strays)
  }

  /** Returns the blocks whose files could not be removed, for a retry. */
  async #deleteFiles(blocks: readonly StoredBlock[]): Promise<StoredBlock[]> {
    const byBackend = [...Map.groupBy(blocks, block => block.backendId)]
    // Start all deletions at once, so that each store registers its `deleting` blocks without delay.
    const deletions = await Promise.all(
      byBackend.map(
        ([backendId, group]) => this.#parts.stores.get(backendId)?.delete(group) ?? group.map(notConfigured),
      ),
    )
    const failed = new Map(deletions.flat().map(({ id, error }) => [id, error]))
    if (failed.size > 0) {
      const [error] = failed.values()
      this.#parts.logger.warn(
        { err: error, files: failed.size },
        'cannot remove block files; the next collection repeats it',
      )
    }
    return blocks.filter(block => failed.has(block.id))
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancelTimer = this.#parts.clock.after(this.#parts.intervalMs, () => {
      underName('collection', () => this.collect())
        .catch((error: unknown) =>
          this.#parts.logger.error({ err: error }, 'garbage collection failed; it is repeated'),
        )
        .finally(() => this.#schedule())
    })
  }
}

function notConfigured({ id }: StoredBlock): FailedDeletion {
  return { id, error: new Error('no configured cluster uses its data directory') }
}
