import { underName } from '../concurrency/work.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BlockStore } from './block-store.ts'
import type { FailedDeletion } from './deletion.ts'
import type { Leases } from './leases.ts'
import { StrayFiles } from './stray-files.ts'

/** What a collection freed. */
export interface Collected {
  /** DAGs that nothing needed any more. */
  roots: number
  /** Blocks that were deleted, and their bytes. */
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
  /** For how long garbage stays before it is deleted, unless a collection is told otherwise. */
  graceMs: number
  intervalMs: number
  /** Gives some free pages of the database back to the disk. Returns how many are left. */
  giveBackPages: () => Promise<number>
  /** Called at the end of every collection. */
  onCollected?: (freed: Collected) => void
}

/**
 * Frees what no record needs: dropped roots release their blocks, blocks that no root needs are deleted after a
 * grace period. Works in small batches while everything else goes on; its cost is what it frees.
 */
export class Collector {
  readonly #parts: CollectorParts
  readonly #strays: StrayFiles
  #running: Promise<Collected> | null = null
  #cancelTimer: (() => void) | null = null
  #stopped = false
  /** How many want nothing deleted at the moment. */
  #holds = 0
  #released = Promise.withResolvers<void>()

  constructor(parts: CollectorParts) {
    this.#parts = parts
    this.#strays = new StrayFiles(parts.stores)
  }

  /** Finishes deletions that an earlier process began, then collects by itself from time to time. */
  async start(): Promise<void> {
    await this.#deleteFiles(await this.#parts.ledger.recover()).catch((error: unknown) =>
      this.#parts.logger.error(
        { err: error },
        'deletions that were cut short could not be finished; they are tried again',
      ),
    )
    this.#schedule()
  }

  /** Ends after the batch under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#released.resolve()
    this.#cancelTimer?.()
    await this.#running?.catch(() => undefined)
  }

  /** Has nothing deleted from when this resolves until what it returns is called, once. */
  async hold(): Promise<() => void> {
    if (this.#holds++ === 0) this.#released = Promise.withResolvers()
    await this.#running?.catch(() => undefined)
    return () => {
      if (--this.#holds === 0) this.#released.resolve()
    }
  }

  /** Collects until nothing is left that has been garbage for `graceMs`. */
  async collect(graceMs: number = this.#parts.graceMs): Promise<Collected> {
    // One collection at a time; whoever asks meanwhile wants what is garbage now to go.
    while (this.#running !== null || (this.#holds > 0 && !this.#stopped)) {
      await (this.#running?.catch(() => undefined) ?? this.#released.promise)
    }
    this.#running = this.#collect(graceMs).finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** Whether a collection under way is to end after its batch. */
  get #ends(): boolean {
    return this.#stopped || this.#holds > 0
  }

  async #collect(graceMs: number): Promise<Collected> {
    const collected: Collected = { roots: 0, blocks: 0, bytes: 0 }
    // Deletions that failed before.
    await this.#deleteFiles(this.#parts.ledger.deleting().filter(({ backendId }) => this.#parts.stores.has(backendId)))
    // Roots that are dropped from here on are the next collection's, or this one might never end.
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

  /** As long as there are fewer each time. */
  async #giveBackPages(): Promise<void> {
    for (let left = Number.POSITIVE_INFINITY, more = true; more && !this.#ends; ) {
      const now = await this.#parts.giveBackPages()
      more = now > 0 && now < left
      left = now
    }
  }

  async #removeStrays(): Promise<void> {
    const strays = await this.#strays.next().catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'block files without a row could not be looked for')
      return []
    })
    if (strays.length === 0) return
    this.#parts.logger.warn({ files: strays.length }, 'block files that the ledger does not know are removed')
    await this.#deleteFiles(strays)
  }

  /** Returns the blocks whose files could not be removed. They stay as they are until the next collection. */
  async #deleteFiles(blocks: readonly StoredBlock[]): Promise<StoredBlock[]> {
    const byBackend = [...Map.groupBy(blocks, block => block.backendId)]
    // All begin at once: a block that the ledger calls `deleting` is then known to its store as such.
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
        'block files could not be removed; they are tried again',
      )
    }
    return blocks.filter(block => failed.has(block.id))
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancelTimer = this.#parts.clock.after(this.#parts.intervalMs, () => {
      underName('collection', () => this.collect())
        .catch((error: unknown) => this.#parts.logger.error({ err: error }, 'collection failed; it is tried again'))
        .finally(() => this.#schedule())
    })
  }
}

function notConfigured({ id }: StoredBlock): FailedDeletion {
  return { id, error: new Error('no cluster has the data directory that it is in') }
}
