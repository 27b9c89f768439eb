import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import { matches } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'

/** Somewhere to read blocks from. */
export interface BlockSource {
  /**
   * Bytes that hash to the CID. What reads over a network has a deadline of its own beside the signal.
   *
   * @throws HoldfastError `NOT_FOUND`, `BLOCK_DAMAGED`, `UNAVAILABLE`
   */
  read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array>
}

/** A source that tells how large a block is without reading it. */
export interface SizedSource extends BlockSource {
  /**
   * Bytes of a block, in the words of who has it.
   *
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<number>
}

/** A source that nobody has to trust: every block is checked by its hash. */
export class CheckedSource implements BlockSource {
  readonly #source: BlockSource

  constructor(source: BlockSource) {
    this.#source = source
  }

  /** @throws HoldfastError `BLOCK_DAMAGED` for other bytes; what the source throws. */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const bytes = await this.#source.read(cid, options)
    if (await matches(cid.multihash.bytes, bytes)) return bytes
    throw new HoldfastError('BLOCK_DAMAGED', `what was read as block ${cid} has another hash`)
  }
}

/** Several sources as one: each block comes from the first that gives it. */
export class FirstSource implements BlockSource {
  readonly #sources: readonly BlockSource[]

  constructor(sources: readonly BlockSource[]) {
    this.#sources = sources
  }

  /** @throws what the first source throws, if none gives the block */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    const failures: unknown[] = []
    for (const source of this.#sources) {
      options?.signal?.throwIfAborted()
      try {
        return await source.read(cid, options)
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0]
  }
}

/** The blocks that CIDs have in themselves. */
export const inlineBlocks: BlockSource = {
  async read(cid) {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not here`)
  },
}
