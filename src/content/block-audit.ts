import { diskTrouble } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { matches } from '../ipld/block-hash.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BlockFiles } from './block-files.ts'

/** Finds durable blocks whose file is missing or damaged, and marks them as lost. */
export class BlockAudit {
  readonly #files: ReadonlyMap<number, BlockFiles>
  readonly #blocks: Blocks
  readonly #ledger: Ledger

  /** @param files by backend id */
  constructor(files: ReadonlyMap<number, BlockFiles>, blocks: Blocks, ledger: Ledger) {
    this.#files = files
    this.#blocks = blocks
    this.#ledger = ledger
  }

  /**
   * Describes the problem of a block, or returns null if there is none. Compares the length of the bytes, but not their
   * hash.
   *
   * @throws HoldfastError `UNAVAILABLE` if the process is short of file handles
   */
  async problemOf(block: StoredBlock): Promise<string | null> {
    const { id, size, inline } = block
    // Blocks of an absent cluster cannot be checked.
    if (!this.#files.has(block.backendId)) return null
    const found = inline === 1 ? (this.#blocks.storedSize(id) ?? null) : await this.#fileSize(block)
    if (found === size && block.state === 'durable') return null
    const state = this.#blocks.get(id)?.state
    if (state === undefined || state === 'deleting') return null
    if (typeof found === 'string') return found
    if (found === null) return this.isCached(block) ? null : 'is missing'
    if (found !== size) return `has ${found} of ${size} bytes`
    return state === 'writing' ? 'is lost' : null
  }

  isCached({ backendId }: StoredBlock): boolean {
    return this.#files.get(backendId)?.isCache === true
  }

  /** Marks blocks as lost. Truncates a file that has extra bytes after a whole block, and its block stays durable. */
  async lose(blocks: readonly StoredBlock[]): Promise<void> {
    await this.#ledger.claims.lose(blocks.map(({ id }) => id))
    const whole: number[] = []
    for (const block of blocks) if (block.inline === 0 && (await this.#isWhole(block))) whole.push(block.id)
    if (whole.length > 0) await this.#ledger.claims.markDurable(whole)
  }

  /** Moves the remains of a damaged block to quarantine, unless the quarantine is full or the block is sound. */
  async quarantine({ id, backendId, inline, size, multihash }: StoredBlock): Promise<void> {
    const isSound = async (bytes: Uint8Array): Promise<boolean> =>
      bytes.length === size && (await matches(multihash, bytes))
    const files = this.#files.get(backendId)
    if (inline === 0) return files?.quarantine.takeFile(files.pathOf(multihash), size, isSound)
    const bytes = this.#blocks.bytes(id)
    if (bytes !== undefined && !(await isSound(bytes))) await files?.quarantine.takeBytes(bytes)
  }

  async #isWhole({ backendId, size, multihash }: StoredBlock): Promise<boolean> {
    const files = this.#files.get(backendId)
    const bytes = await files?.stored(multihash, size).catch(() => null)
    if (files === undefined || bytes?.length !== size || !(await matches(multihash, bytes))) return false
    if ((await files.size(multihash)) === size) return true
    const unsynced = await files.sync(new Set([await files.write(multihash, bytes)]))
    return unsynced.size === 0
  }

  /** Returns the file's size in bytes, null if there is no file, or a text that says why the file is unreadable. */
  async #fileSize({ backendId, multihash }: StoredBlock): Promise<number | string | null> {
    const files = this.#files.get(backendId)
    if (files === undefined) return null
    try {
      return await files.size(multihash)
    } catch (error) {
      const code = fileErrorCode(error)
      if (diskTrouble(error) === 'short') {
        throw new HoldfastError('UNAVAILABLE', 'the node is short of file handles', { cause: error })
      }
      return `cannot be read: ${code ?? 'unknown error'}`
    }
  }
}
