import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { BlockStore } from '../content/block-store.ts'
import { hasLinks } from '../content/dag/links.ts'
import { StagedDag } from '../content/dag/staged-dag.ts'
import { ADMITTED, walkDag } from '../content/dag/walk.ts'
import { PossessedBlocks, RecordedBlocks, type TakenSource } from '../content/taken-source.ts'
import { listContent } from '../content/unixfs/content-listing.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { type DagIdentity, identityOf } from '../ipld/cid.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Possessor, PUBLIC } from '../ledger/possessor.ts'
import type { BackendStatus, MayUnpin, PinJob } from './cluster-backend.ts'
import type { StageOptions, Staging, StagingBackend, TakeOptions } from './staging-backend.ts'

const WALK_AT_ONCE = 16

/** Stores block files in a data directory, and the ledger in the engine's database. */
export class EmbeddedBackend implements StagingBackend, Staging {
  readonly #store: BlockStore
  readonly #ledger: Ledger
  readonly #roots: HeldRoots
  readonly #clock: Clock

  constructor(store: BlockStore, ledger: Ledger, roots: HeldRoots, clock: Clock) {
    this.#store = store
    this.#ledger = ledger
    this.#roots = roots
    this.#clock = clock
  }

  get staging(): Staging {
    return this
  }

  get reader(): BlockSource {
    return this.#store
  }

  get id(): number {
    return this.#store.backendId
  }

  async stage({ late = false, by }: StageOptions = {}): Promise<StagedDag> {
    const begin = () => this.#ledger.stage(this.id, this.#clock.now())
    return new StagedDag(late ? begin : await begin(), this.#store, this.#ledger, by)
  }

  resume(rootId: number): StagedDag {
    return new StagedDag(rootId, this.#store, this.#ledger)
  }

  async take(cid: CID, source: TakenSource, { maxBlocks, signal }: TakeOptions): Promise<StagedDag> {
    const staged = await this.stage()
    const isHere = source instanceof PossessedBlocks && source.isOf(this.#store)
    const take = isHere ? this.#adopt(staged, source.by) : this.#copy(staged, source, signal)
    try {
      await walkDag(cid, take, { concurrency: WALK_AT_ONCE, maxBlocks, signal })
      await staged.settle()
      return staged
    } catch (error) {
      await staged.abandon()
      if (isHoldfastError(error, 'NOT_FOUND')) {
        throw new HoldfastError('CID_NOT_FOUND', `${cid} is incomplete: ${error.message}`, { cause: error })
      }
      throw error
    }
  }

  async pin({ hold, root, source, signal, onProgress }: PinJob): Promise<void> {
    if (source === null) throw new HoldfastError('UNAVAILABLE', `nobody is named who has ${root}`)
    const staged = await this.take(root, new RecordedBlocks(source), { maxBlocks: ADMITTED, signal })
    try {
      const contentSize = await listContent(staged, root, staged, signal)
      await staged.settle()
      onProgress?.({ blocks: staged.blockCount, bytes: staged.dagSize })
      const dag = { ...identityOf(root), owner: PUBLIC, ...staged.sizes(contentSize) }
      await this.#ledger.keep(hold, { backendId: this.id, stagedRootId: staged.rootId, dag, ends: null })
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  /** Releases the hold. Garbage collection later deletes the dropped root and its blocks. */
  async unpin(hold: string, _root: DagIdentity, _signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    if (mayUnpin === undefined || (await mayUnpin())) await this.#ledger.release(hold)
  }

  async status(root: DagIdentity): Promise<BackendStatus> {
    return { state: this.#roots.findOfAny(this.id, root) === undefined ? 'unpinned' : 'pinned', allocations: [] }
  }

  /**
   * Returns a visitor that claims blocks that this backend already stores and the possessor may use. The visitor reads
   * only the blocks with links.
   */
  #adopt(staged: StagedDag, by: Possessor): (cid: CID) => Promise<Uint8Array | null> {
    return async cid => {
      await staged.adopt(cid, by)
      return hasLinks(cid) ? this.#store.read(cid) : null
    }
  }

  #copy(
    staged: StagedDag,
    source: TakenSource,
    signal: AbortSignal | undefined,
  ): (cid: CID) => Promise<Uint8Array | null> {
    return async cid => {
      const bytes = await source.read(cid, { signal })
      await staged.put(cid, bytes)
      return bytes
    }
  }
}
