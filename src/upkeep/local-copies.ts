import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockFiles } from '../content/block-files.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { Ledger } from '../ledger/ledger.ts'

const BATCH = 64

export interface LocalCopiesParts {
  files: ReadonlyMap<number, BlockFiles>
  blocks: Pick<Blocks, 'find' | 'completeRootsOf'>
  ledger: Pick<Ledger, 'neededAfter'>
  heldRoots: Pick<HeldRoots, 'findOfAny'>
}

export class LocalCopies {
  readonly #parts: LocalCopiesParts

  constructor(parts: LocalCopiesParts) {
    this.#parts = parts
  }

  /** Returns whether this node's disks have every block of a DAG. Compares only the sizes of the files. */
  async isWhole({ backendId, ...dag }: DagIdentity & { backendId: number }, signal: AbortSignal): Promise<boolean> {
    const root = this.#parts.heldRoots.findOfAny(backendId, dag)
    if (root === undefined) return false
    for (let after = 0; ; ) {
      const blocks = this.#parts.ledger.neededAfter(root.id, after, BATCH)
      const last = blocks.at(-1)
      if (last === undefined) return true
      after = last.id
      for (const block of blocks) if (!(await this.#isHere(block))) return false
      if (turnSpent()) await nextTurn(signal)
    }
  }

  /**
   * Returns whether a block is on this node. The block may belong to another backend, if a complete root of that
   * backend needs it.
   */
  async #isHere({ backendId, multihash, size, inline }: StoredBlock): Promise<boolean> {
    if (inline === 1) return true
    for (const [id, files] of this.#parts.files) {
      const row = id === backendId ? undefined : this.#parts.blocks.find(id, multihash)
      const isKept = row?.state === 'durable' && this.#parts.blocks.completeRootsOf(row.id, 0, 1).length > 0
      if (id !== backendId && !isKept) continue
      if (row?.inline === 1) return true
      if ((await files.storedSize(multihash).catch(() => null)) === size) return true
    }
    return false
  }
}
