import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import { HeldPlaces } from './held-places.ts'
import type { RootRow, RootTable } from './root-table.ts'

/** What the node holds, to be looked up: complete roots, and which backend has a block for somebody. */
export class HeldRoots extends HeldPlaces {
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue

  /** @param elsewhere as {@link HeldPlaces} has it */
  constructor(roots: RootTable, blocks: BlockTable, queue: WriteQueue, elsewhere: ReadonlySet<number> = new Set()) {
    super(roots, blocks, elsewhere)
    this.#roots = roots
    this.#blocks = blocks
    this.#queue = queue
  }

  /** The complete root of a DAG on a backend. */
  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  /** The complete root of a DAG on any backend. */
  findAnywhere(dag: DagIdentity): RootRow | undefined {
    return this.#roots.findAnywhere(dag)
  }

  /** Whether a root, in whatever state it is, needs a block. */
  isNeededBy(rootId: number, backendId: number, multihash: Uint8Array): boolean {
    const found = this.#blocks.find(backendId, multihash)
    return found !== undefined && this.#blocks.isNeededBy(rootId, found.id)
  }

  /** The complete roots that need a block, on any backend, each looked up as it is asked for. */
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

  /** Notes that a check, which began at an instant, has seen backends elsewhere to have DAGs. */
  async confirm(dags: ReadonlyArray<DagIdentity & { backendId: number }>, began: number): Promise<void> {
    const ids = dags.flatMap(dag => this.#roots.unconfirmed(dag.backendId, dag) ?? [])
    if (ids.length === 0) return
    const confirm = (): void => {
      for (const id of ids) this.#roots.confirm(id, began)
    }
    await this.#queue.run(confirm, { durable: false })
  }
}
