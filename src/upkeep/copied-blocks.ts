import type { CID } from 'multiformats/cid'
import type { Copies } from '../catalogue/copies.ts'
import type { BlockSource } from '../content/block-source.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Blocks } from '../ledger/blocks.ts'

export interface BlocksOfCopiesParts {
  /** Returns null if no cluster wants copies. */
  copies: () => Promise<Pick<Copies, 'sourcesOf'> | null>
  blocks: Pick<Blocks, 'find' | 'completeRootsOf'>
  readerOf: (nodes: readonly string[]) => BlockSource
}

/** Roots of a block that are tried. */
const ROOTS = 4

/** Reads blocks of a backend from other nodes that have the same content. */
export class BlocksOfCopies implements BlockSource {
  readonly #parts: BlocksOfCopiesParts
  readonly #backendId: number

  constructor(parts: BlocksOfCopiesParts, backendId: number) {
    this.#parts = parts
    this.#backendId = backendId
  }

  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    const { copies, blocks, readerOf } = this.#parts
    const known = await copies()
    const block = known === null ? undefined : blocks.find(this.#backendId, cid.multihash.bytes)
    const roots = block === undefined ? [] : blocks.completeRootsOf(block.id, 0, ROOTS)
    const found = await Promise.all(roots.map(async dag => (await known?.sourcesOf(dag)) ?? []))
    const nodes = [...new Set(found.flat())]
    if (nodes.length === 0) throw new HoldfastError('NOT_FOUND', `block ${cid} is on no other node`)
    return readerOf(nodes).read(cid, options)
  }
}
