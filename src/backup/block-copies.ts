import type { Stats } from 'node:fs'
import { link, mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pace } from '../concurrency/pace.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { BlockFiles } from '../content/block-files.ts'
import { nodeFileSystem, OWNERS_DIRECTORY } from '../disk/node-file-system.ts'
import { isSameFile } from '../disk/same-file.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { matches } from '../ipld/block-hash.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { StoredBlock } from '../ledger/blocks.ts'
import type { CopiedLedger } from '../ledger/copied-ledger.ts'

export interface CopiedBlocks {
  blocks: number
  newBlocks: number
  mendedBlocks: number
  bytes: number
  missing: string[]
}

export interface BlockCopiesParts {
  /** By backend id. */
  blockFiles: ReadonlyMap<number, BlockFiles>
  directory: string
  /** False to read and hash unchanged blocks too. */
  trustsUnchanged: boolean
  /** Returns whether the previous backup lacks the small block. */
  isNew: (block: StoredBlock) => boolean
  pace: Pace
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

const BATCH = 256
const AT_ONCE = 8
const MOST_MISSING = 1_000
const LINK_ATTEMPTS = 3
/** Matches the directories of backends in `stores`. */
const BACKEND = /^\d+$/
const NO_LINKS = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EACCES', 'ENOSYS'])

/** Returns the path of a backend's blocks in a backup. The directory has the layout of a data directory. */
export function storeIn(directory: string, backendId: number): string {
  return join(directory, 'stores', String(backendId))
}

/**
 * Copies blocks into a backup, and hashes each block when it is added. A block is unchanged if its size matches, and
 * the file is a hard link or has the same modification time.
 */
export class BlockCopies {
  readonly #parts: BlockCopiesParts
  readonly #targets = new Map<number, Promise<BlockFiles>>()
  readonly #touched = new Set<string>()
  readonly #copied: CopiedBlocks = { blocks: 0, newBlocks: 0, mendedBlocks: 0, bytes: 0, missing: [] }

  constructor(parts: BlockCopiesParts) {
    this.#parts = parts
  }

  async run(ledger: CopiedLedger): Promise<CopiedBlocks> {
    const { signal, onProgress } = this.#parts
    for (let last = 0; ; ) {
      const batch = ledger.durableAfter(last, BATCH)
      const end = batch.at(-1)
      if (end === undefined) break
      last = end.id
      for (let start = 0; start < batch.length; start += AT_ONCE) {
        await Promise.all(batch.slice(start, start + AT_ONCE).map(block => this.#take(block, ledger)))
        if (turnSpent()) await nextTurn(signal)
      }
      onProgress?.({ blocks: this.#copied.blocks, bytes: this.#copied.bytes })
      signal?.throwIfAborted()
    }
    const [files] = this.#parts.blockFiles.values()
    const failed = (await files?.sync(this.#touched)) ?? new Map()
    for (const [, error] of failed) throw error
    return this.#copied
  }

  async #take(block: StoredBlock, ledger: CopiedLedger): Promise<void> {
    const hasBlock = block.inline === 1 ? await this.#hasSmall(block, ledger) : await this.#has(block)
    if (hasBlock) {
      this.#copied.blocks++
      this.#copied.bytes += block.size
    } else if (block.inline === 1 || !ledger.isKeptExternally(block.id)) {
      this.#miss(block)
    }
  }

  #miss({ multihash }: StoredBlock): void {
    if (this.#copied.missing.length >= MOST_MISSING) return
    this.#copied.missing.push(cidOf({ codec: CODEC.raw, multihash }).toString())
  }

  async #hasSmall(block: StoredBlock, ledger: CopiedLedger): Promise<boolean> {
    const bytes = ledger.bytes(block.id)
    if (bytes?.length !== block.size || !(await matches(block.multihash, bytes))) return false
    if (this.#parts.isNew(block)) this.#copied.newBlocks++
    return true
  }

  /** Ensures that the backup contains the block, undamaged. Returns false if that fails. */
  async #has(block: StoredBlock): Promise<boolean> {
    const { multihash, size, backendId } = block
    const target = await this.#targetOf(backendId)
    const from = this.#parts.blockFiles.get(backendId)?.pathOf(multihash) ?? null
    const to = target.pathOf(multihash)
    const [there, origin] = await Promise.all([statOf(to), from === null ? null : statOf(from).catch(() => null)])
    if (there !== null) {
      const isLink = origin !== null && isSameFile(there, origin)
      const isUnchanged = origin !== null && there.size === size && (isLink || hasTimeOf(there, origin))
      if (isUnchanged && this.#parts.trustsUnchanged) return true
      if ((await this.#read(to, block)) !== null) {
        if (origin !== null && !isLink) await utimes(to, origin.atime, origin.mtime)
        return true
      }
    }
    const hasEntered = from !== null && (await this.#enter(block, from, target))
    if (hasEntered && there === null) this.#copied.newBlocks++
    else if (hasEntered) this.#copied.mendedBlocks++
    // The damaged file is deleted, because the next run would mistake it for an unchanged block.
    else if (there !== null) await rm(to, { force: true })
    return hasEntered
  }

  /** Returns false if the block is damaged or unreadable. */
  async #enter(block: StoredBlock, from: string, target: BlockFiles): Promise<boolean> {
    const to = target.pathOf(block.multihash)
    for (let attempt = 1; ; attempt++) {
      const found = await this.#read(from, block)
      if (found === null) return false
      this.#touched.add(dirname(to))
      // The file may have bytes after the end of the block. A copy omits these bytes, but a link would not.
      const mayLink = attempt <= LINK_ATTEMPTS && found.stats.size === block.size
      if (!mayLink || !(await linked(from, to))) {
        await target.write(block.multihash, found.bytes)
        await utimes(to, found.stats.atime, found.stats.mtime)
        return true
      }
      // The data directory may have replaced the file since it was read, so check that the link is the same file.
      const there = await statOf(to)
      if (there !== null && isSameFile(there, found.stats)) return true
    }
  }

  async #read(path: string, { multihash, size }: StoredBlock): Promise<{ bytes: Uint8Array; stats: Stats } | null> {
    await this.#parts.pace.spend(size, this.#parts.signal)
    const found = await readWhole(path, size).catch((error: unknown) => {
      if (fileErrorCode(error) === undefined) throw error
      return null
    })
    return found !== null && (await matches(multihash, found.bytes)) ? found : null
  }

  #targetOf(backendId: number): Promise<BlockFiles> {
    const known = this.#targets.get(backendId)
    if (known !== undefined) return known
    const made = openStore(this.#parts.directory, backendId)
    this.#targets.set(backendId, made)
    return made
  }
}

/** Removes the block files that a ledger does not list. */
export async function removeUnlisted(directory: string, ledger: CopiedLedger): Promise<void> {
  for (const name of await readdir(join(directory, 'stores')).catch(() => [])) {
    if (!BACKEND.test(name)) continue
    const backend = Number(name)
    const files = new BlockFiles(storeIn(directory, backend))
    for (const shard of await files.directories()) {
      for (const multihash of await files.blocksIn(shard)) {
        if (!ledger.hasFile(backend, multihash)) await files.remove(multihash)
        if (turnSpent()) await nextTurn()
      }
    }
  }
}

async function openStore(directory: string, backendId: number): Promise<BlockFiles> {
  const dir = storeIn(directory, backendId)
  await mkdir(dir, { recursive: true, mode: OWNERS_DIRECTORY })
  await nodeFileSystem.syncDirectory(dirname(dir))
  await nodeFileSystem.syncDirectory(directory)
  const files = new BlockFiles(dir)
  await files.open()
  return files
}

async function readWhole(path: string, size: number): Promise<{ bytes: Uint8Array; stats: Stats } | null> {
  const file = await open(path, 'r')
  try {
    const stats = await file.stat()
    const bytes = Buffer.allocUnsafeSlow(size)
    for (let length = 0; length < size; ) {
      const { bytesRead } = await file.read(bytes, length, size - length, length)
      if (bytesRead === 0) return null
      length += bytesRead
    }
    return { bytes, stats }
  } finally {
    await file.close()
  }
}

/** Replaces a file with the same name. Returns false if the file system cannot create the link. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await rm(to, { force: true })
    await link(from, to).catch(async (error: unknown) => {
      // A multihash of unusual length has a directory of its own, which may not exist yet.
      if (fileErrorCode(error) !== 'ENOENT') throw error
      await mkdir(dirname(to), { recursive: true, mode: OWNERS_DIRECTORY })
      await link(from, to)
    })
    return true
  } catch (error) {
    const code = fileErrorCode(error) ?? ''
    if (NO_LINKS.has(code) || code === 'ENOENT') return false
    throw error
  }
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(fileErrorCode(error) ?? '')) return null
    throw error
  }
}

/** Compares times of modification, to the millisecond: a copy stores no fractions. */
function hasTimeOf(copy: Stats, origin: Stats): boolean {
  return Math.abs(copy.mtimeMs - origin.mtime.getTime()) < 0.5
}
