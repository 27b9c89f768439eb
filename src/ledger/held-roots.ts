import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import { HeldPlaces } from './held-places.ts'
import type { RootRow, RootTable } from './root-table.ts'

/** Finds complete roots, and the backends that contain a block. */
export class HeldRoots extends HeldPlaces {
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue

  /** @param external see {@link HeldPlaces} */
  constructor(roots: RootTable, blocks: BlockTable, queue: WriteQueue, external: ReadonlySet<number> = new Set()) {
    super(roots, blocks, external)
    this.#roots = roots
    this.#blocks = blocks
    this.#queue = queue
  }

  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  findAnywhere(dag: DagIdentity): RootRow | undefined {
    return this.#roots.findAnywhere(dag)
  }

  /** Ignores the state of the root. */
  isNeededBy(rootId: number, backendId: number, multihash: Uint8Array): boolean {
    const found = this.#blocks.find(backendId, multihash)
    return found !== undefined && this.#blocks.isNeededBy(rootId, found.id)
  }

  /** Yields the complete roots that need a block, on any backend. Reads each root on request. */
  *rootsWith(multihash: Uint8Array): Generator<DagIdentity, void, undefined> {
    for (const blockId of this.#blocks.idsOf(multihash)) {
      for (let after = 0; ; ) {
        const [root] = this.#blocks.completeRootsOf(blockId, after, 1)
        if (root === undefined) break
        yield root
        after = root.id
      }
    }
  }

  /** Records that a check that began at `began` found these DAGs on their external backends. */
  async confirm(dags: ReadonlyArray<DagIdentity & { backendId: number }>, began: number): Promise<void> {
    const ids = dags.flatMap(dag => this.#roots.unconfirmed(dag.backendId, dag) ?? [])
    if (ids.length === 0) return
    const confirm = (): void => {
      for (const id of ids) this.#roots.confirm(id, began)
    }
    await this.#queue.run(confirm, { durable: false })
  }
}
