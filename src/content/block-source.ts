import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import { matches } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'

/** Reads blocks by their CID. */
export interface BlockSource {
  /**
   * Returns bytes that hash to the CID. A source that reads from a network has its own deadline, besides the signal.
   *
   * @throws HoldfastError `NOT_FOUND`, `BLOCK_DAMAGED`, `UNAVAILABLE`
   */
  read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array>
}

export interface SizedSource extends BlockSource {
  /**
   * Returns the size of a block in bytes as the backend reports it, unchecked.
   *
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<number>
}

/** Wraps an untrusted source and checks the hash of every block it returns. */
export class CheckedSource implements BlockSource {
  readonly #source: BlockSource

  constructor(source: BlockSource) {
    this.#source = source
  }

  /** @throws HoldfastError `BLOCK_DAMAGED` if the bytes do not hash to the CID; any error of the wrapped source */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const bytes = await this.#source.read(cid, options)
    if (await matches(cid.multihash.bytes, bytes)) return bytes
    throw new HoldfastError('BLOCK_DAMAGED', `the bytes read for block ${cid} have another hash`)
  }
}

/** Reads each block from the first of several sources that has the block. */
export class FirstSource implements BlockSource {
  readonly #sources: readonly BlockSource[]

  constructor(sources: readonly BlockSource[]) {
    this.#sources = sources
  }

  /** @throws the error of the first source, if no source has the block */
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

export const inlineBlocks: BlockSource = {
  async read(cid) {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
  },
}
