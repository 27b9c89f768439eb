import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { diskTrouble } from '../domain/disk-trouble.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { matches, matchesHere } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import type { BlockRow, Blocks } from '../ledger/blocks.ts'
import type { BlockFiles } from './block-files.ts'
import type { BlockSource } from './block-source.ts'

export interface StoredBlockOptions {
  backendId: number
  files: Pick<BlockFiles, 'read' | 'stored' | 'isCache'>
  onDamaged: (cid: CID, reason: string) => void
}

/** Reads the stored blocks of one backend. Works with any database connection and in any thread. */
export class StoredBlocks implements BlockSource {
  readonly #blocks: Blocks
  readonly #options: StoredBlockOptions

  constructor(blocks: Blocks, options: StoredBlockOptions) {
    this.#blocks = blocks
    this.#options = options
  }

  /**
   * Returns the bytes of a block. Checks their length, and with `verify` also their hash.
   *
   * @param options.localOnly true to skip blocks that only an external backend has, instead of fetching them
   * @throws HoldfastError `NOT_FOUND` if the ledger does not have the block; `BLOCK_DAMAGED` if the bytes are missing
   * or wrong; any error of fetching the block
   */
  async get(cid: CID, options: { verify?: boolean; localOnly?: boolean } = {}): Promise<Uint8Array> {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const { bytes: multihash } = cid.multihash
    const found = this.#blocks.find(this.#options.backendId, multihash)
    if (found === undefined || found.state === 'deleting') {
      throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    }
    const bytes = await this.#read(multihash, found, options.localOnly === true).catch((error: unknown) => {
      if (isHoldfastError(error)) throw error
      return this.#damaged(cid, `cannot be read: ${fileErrorCode(error) ?? 'unknown error'}`, error)
    })
    if (bytes === null && this.#options.files.isCache)
      throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    if (bytes === null) return this.#damaged(cid, 'is missing')
    if (bytes.length !== found.size) return this.#damaged(cid, `has ${bytes.length} of ${found.size} bytes`)
    if (options.verify === true && !(await matches(multihash, bytes))) return this.#damaged(cid, 'has the wrong hash')
    return bytes
  }

  async read(cid: CID): Promise<Uint8Array> {
    const bytes = await this.get(cid)
    if (turnSpent()) await nextTurn()
    return matchesHere(cid.multihash.bytes, bytes) ? bytes : this.#damaged(cid, 'has the wrong hash')
  }

  async #read(multihash: Uint8Array, block: BlockRow, localOnly: boolean): Promise<Uint8Array | null> {
    if (block.inline === 1) return this.#blocks.bytes(block.id) ?? null
    const { files } = this.#options
    return localOnly ? files.stored(multihash, block.size) : files.read(multihash, block.size)
  }

  #damaged(cid: CID, reason: string, cause?: unknown): never {
    if (diskTrouble(cause) === 'short')
      throw new HoldfastError('UNAVAILABLE', 'the node is short of file handles', { cause })
    this.#options.onDamaged(cid, reason)
    throw new HoldfastError('BLOCK_DAMAGED', `block ${cid} ${reason}`, { cause })
  }
}
