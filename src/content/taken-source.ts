import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import { HASH, isInline } from '../ipld/cid.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { Possessor } from '../ledger/possessor.ts'
import type { BlockSource } from './block-source.ts'
import type { StagedDag } from './dag/staged-dag.ts'
import type { BackendReaders } from './live-content.ts'

/**
 * Source that a backend may copy a DAG from. Each kind has its own right to the blocks, so a raw reader, which gives
 * any block, is refused by the compiler.
 */
export abstract class TakenSource implements BlockSource {
  /** Makes the class differ from every other {@link BlockSource}. */
  protected abstract readonly right: 'possessed' | 'staged' | 'placed' | 'recorded'
  abstract read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array>
}

/** Stored blocks that a possessor may use. */
export class PossessedBlocks extends TakenSource {
  protected readonly right = 'possessed'
  readonly by: Possessor
  readonly backendId: number
  /** True if a block store of this node has the blocks. If false, the source also gives the blocks below its root. */
  readonly isLocal: boolean
  readonly #reader: BlockSource
  readonly #held: Pick<HeldRoots, 'mayUse'>

  constructor(
    { backendId, isLocal, reader }: { backendId: number; isLocal: boolean; reader: BlockSource },
    held: Pick<HeldRoots, 'mayUse'>,
    by: Possessor,
  ) {
    super()
    this.by = by
    this.backendId = backendId
    this.isLocal = isLocal
    this.#reader = reader
    this.#held = held
  }

  isOf(reader: BlockSource): boolean {
    return this.#reader === reader
  }

  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    const mayRead = !this.isLocal || isInline(cid) || this.#held.mayUse(this.backendId, cid.multihash.bytes, this.by)
    if (mayRead) return this.#reader.read(cid, options)
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
  }
}

/** Blocks that a staged DAG has claimed. */
export class StagedBlocks extends TakenSource {
  protected readonly right = 'staged'
  readonly #staged: StagedDag

  constructor(staged: StagedDag) {
    super()
    this.#staged = staged
  }

  read(cid: CID): Promise<Uint8Array> {
    return this.#staged.get(cid, { verify: true })
  }
}

/** Gives every block of a reader. Only its kinds below are made, each where its right is known. */
abstract class ReadBlocks extends TakenSource {
  readonly #reader: BlockSource

  constructor(reader: BlockSource) {
    super()
    this.#reader = reader
  }

  read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    return this.#reader.read(cid, options)
  }
}

/** Blocks on another node, below content that the catalogue has found for a possessor. */
export class BlocksOfNode extends ReadBlocks {
  protected readonly right = 'placed'
}

/**
 * Blocks that the node itself copies, for a root that a record has whole already: repair, move, retirement. No request
 * and no fetch makes one.
 */
export class RecordedBlocks extends ReadBlocks {
  protected readonly right = 'recorded'
}

/** Finds stored blocks for requests and fetches. */
export class PossessedContent {
  readonly #held: HeldRoots
  readonly #readers: BackendReaders & { readonly defaultBackend: { id: number } }

  constructor(held: HeldRoots, readers: BackendReaders & { readonly defaultBackend: { id: number } }) {
    this.#held = held
    this.#readers = readers
  }

  /**
   * Returns the blocks of a backend that has the whole DAG of a CID for a possessor, or null. A backend with a complete
   * root has all blocks below each block of the root.
   */
  blocksOf(cid: CID, by: Possessor): PossessedBlocks | null {
    const { bytes, code } = cid.multihash
    const backendId = this.#readers.defaultBackend.id
    const isHere = code === HASH.identity || (by.sentRoot !== 0 && this.#held.mayUse(backendId, bytes, by))
    const place = isHere ? { backendId, isLocal: true } : this.#held.locate(bytes, by)
    const reader = place === null ? null : this.#readers.readerOf(place.backendId)
    return place === null || reader === null ? null : new PossessedBlocks({ ...place, reader }, this.#held, by)
  }

  /** Returns whether a backend has a block only for others, so that it counts as absent. */
  isOfOthers(cid: CID, backendId: number, by: Possessor): boolean {
    const { bytes } = cid.multihash
    return this.#held.sizeOf(backendId, bytes) !== null && !this.#held.mayUse(backendId, bytes, by)
  }
}
