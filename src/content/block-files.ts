import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import * as Digest from 'multiformats/hashes/digest'
import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import { type FileSystem, fileErrorCode, madeDirectory } from '../domain/file-system.ts'
import type { Claims } from '../ledger/claims.ts'
import { type BlockThreads, isShared } from './block-threads.ts'
import { Quarantine } from './quarantine.ts'
import { StoreWatch } from './store-watch.ts'

/** All possible last two characters of a SHA-256 multihash in base32. The last character encodes only 2 bits. */
const SHARDS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'].flatMap(a => [...'AIQY'].map(b => a + b))
const SHARD = /^[A-Z2-7]{2}$/
const SHARD_LENGTH = 2
const EXTENSION = '.data'
const TEMPORARY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Error codes of a rename whose target is not a file. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOTEMPTY', 'EEXIST', 'EPERM'])

/**
 * Stores one file per block, in the layout of blockstore-fs. A file under its final name is complete. The caller syncs
 * the directory, once for many blocks.
 */
export class BlockFiles {
  readonly #dir: string
  readonly #tempDir: string
  readonly #threads: BlockThreads | null
  readonly fileSystem: FileSystem
  readonly dataDir: string
  readonly quarantine: Quarantine
  readonly watch: StoreWatch

  /**
   * @param dataDir contains `blocks/` and `tmp/`, which must be on one file system
   * @param threads write blocks that are in shared memory; null to write all blocks through `fileSystem`
   */
  constructor(dataDir: string, threads: BlockThreads | null = null, fileSystem: FileSystem = nodeFileSystem) {
    this.#threads = threads
    this.fileSystem = fileSystem
    this.dataDir = dataDir
    this.quarantine = new Quarantine(dataDir, fileSystem)
    this.watch = new StoreWatch(fileSystem, dataDir)
    this.#dir = join(dataDir, 'blocks')
    this.#tempDir = join(dataDir, 'tmp')
  }

  /** Creates the directories, and removes temporary files that a crash left behind. */
  async open(): Promise<void> {
    const files = this.fileSystem
    const made = [await madeDirectory(files, this.#tempDir), await madeDirectory(files, this.#dir)]
    if (made.includes(true)) await files.syncDirectory(this.dataDir)
    await this.watch.begin()
    const there = new Set(await files.list(this.#dir))
    const missing = SHARDS.filter(shard => !there.has(shard))
    for (const shard of missing) await madeDirectory(files, join(this.#dir, shard))
    if (missing.length > 0) await files.syncDirectory(this.#dir)
    const left = [
      ...(await files.list(this.#tempDir)).map(name => join(this.#tempDir, name)),
      ...[...there].map(name => join(this.#dir, name)),
    ]
    for (const path of left) if (TEMPORARY.test(basename(path))) await files.unlink(path).catch(() => undefined)
  }

  pathOf(multihash: Uint8Array): string {
    const name = base32upper.encode(multihash)
    return join(this.#dir, name.slice(-SHARD_LENGTH), name + EXTENSION)
  }

  /** Writes a block. Returns the directory that the caller must sync to make the file name durable. */
  async write(multihash: Uint8Array, bytes: Uint8Array): Promise<string> {
    const path = this.pathOf(multihash)
    const temp = join(this.#tempDir, randomUUID())
    try {
      if (this.#threads !== null && isShared(bytes)) await this.#writeInThread(this.#threads, temp, path, bytes)
      else await this.#writeHere(temp, path, bytes)
    } catch (error) {
      await this.fileSystem.unlink(temp).catch(() => undefined)
      throw error
    }
    return dirname(path)
  }

  /** True if {@link read} also returns blocks that are not on this disk. */
  get isCache(): boolean {
    return false
  }

  /** Returns the first `size` bytes of the block, or all bytes of a shorter file. Returns null if there is no file. */
  read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    return this.stored(multihash, size)
  }

  /** Fetches a missing block into a cache, before a root that needs the block becomes complete. */
  async bring(_multihash: Uint8Array, _size: number): Promise<void> {}

  /** Evicts files of a cache that exceeds its limit. */
  async trim(): Promise<void> {}

  /** Prevents evictions until the caller calls the returned function. */
  async keepAll(): Promise<() => void> {
    return () => undefined
  }

  /** Reads a block like {@link read}, but only from this disk. */
  async stored(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    try {
      return await this.fileSystem.read(this.pathOf(multihash), size)
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  size(multihash: Uint8Array): Promise<number | null> {
    return this.storedSize(multihash)
  }

  async storedSize(multihash: Uint8Array): Promise<number | null> {
    try {
      return await this.fileSystem.size(this.pathOf(multihash))
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Removes the block's file if it exists. Returns the directory to sync to make the removal durable. */
  async remove(multihash: Uint8Array): Promise<string> {
    const path = this.pathOf(multihash)
    try {
      await this.fileSystem.unlink(path)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT') throw error
    }
    return dirname(path)
  }

  async sync(dirs: ReadonlySet<string>): Promise<ReadonlyMap<string, unknown>> {
    const failed = new Map<string, unknown>()
    const syncDirectory = (dir: string): Promise<void> =>
      this.fileSystem.syncDirectory(dir).catch((error: unknown) => {
        failed.set(dir, error)
      })
    await syncDirectories({ syncDirectory }, dirs)
    return failed
  }

  async directories(): Promise<string[]> {
    const names = await this.fileSystem.list(this.#dir)
    return names.filter(name => SHARD.test(name)).sort()
  }

  async blocksIn(directory: string): Promise<Uint8Array[]> {
    const names = await this.fileSystem.list(join(this.#dir, directory))
    return names.flatMap(name => {
      const multihash = multihashOf(name)
      return multihash !== null && this.pathOf(multihash) === join(this.#dir, directory, name) ? [multihash] : []
    })
  }

  async #writeInThread(
    threads: BlockThreads,
    temp: string,
    path: string,
    bytes: Uint8Array<SharedArrayBuffer>,
  ): Promise<void> {
    try {
      await threads.write(temp, path, bytes)
    } catch (error) {
      // The worker thread cannot create a missing directory or move an obstacle away, so the main thread does both.
      if (!isInTheWay(error) && fileErrorCode(error) !== 'ENOENT') throw error
      await this.#moveInto(temp, path)
    }
  }

  async #writeHere(temp: string, path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.fileSystem.create(temp)
    try {
      await file.write(bytes)
      await file.datasync()
    } finally {
      await file.close()
    }
    await this.#moveInto(temp, path)
  }

  async #moveInto(temp: string, path: string): Promise<void> {
    const { fileSystem } = this
    try {
      await fileSystem.rename(temp, path)
    } catch (error) {
      if (isInTheWay(error)) {
        await this.quarantine.setAside(path)
      } else if (fileErrorCode(error) === 'ENOENT') {
        // The directory for a multihash of unusual length does not exist until a block first needs it.
        await madeDirectory(fileSystem, dirname(path))
        await fileSystem.syncDirectory(this.#dir)
      } else {
        throw error
      }
      await fileSystem.rename(temp, path)
    }
  }
}

interface Renamed {
  blockId: number
  dir: string
  resolve: () => void
  reject: (error: unknown) => void
}

/** Number of waiting blocks that triggers a flush. */
const GROUP = 256
/** The limit leaves threads for writes. */
const SYNCS_AT_ONCE = 4

/**
 * Syncs the directories of written blocks, then marks the blocks as durable in the ledger. One flush handles all
 * waiting blocks.
 */
export class Durability {
  readonly #claims: Claims
  readonly #files: Pick<FileSystem, 'syncDirectory'>
  #waiting: Renamed[] = []
  #flushing: Promise<void> | null = null

  constructor(claims: Claims, files: Pick<FileSystem, 'syncDirectory'>) {
    this.#claims = claims
    this.#files = files
  }

  /** Resolves when a flush has made the block durable. */
  add(blockId: number, dir: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ blockId, dir, resolve, reject })
      if (this.#waiting.length >= GROUP) void this.flush()
    })
  }

  /** Makes all registered blocks durable. Never throws: the promises of {@link add} report the errors. */
  async flush(): Promise<void> {
    // A running flush lacks the blocks added after its start.
    while (this.#flushing !== null) await this.#flushing
    if (this.#waiting.length === 0) return
    this.#flushing = this.#flushGroup(this.#waiting.splice(0)).finally(() => {
      this.#flushing = null
    })
    await this.#flushing
  }

  async #flushGroup(group: Renamed[]): Promise<void> {
    try {
      await syncDirectories(this.#files, new Set(group.map(block => block.dir)))
      for (let start = 0; start < group.length; start += GROUP) {
        await this.#claims.markDurable(group.slice(start, start + GROUP).map(block => block.blockId))
      }
      for (const block of group) block.resolve()
    } catch (error) {
      for (const block of group) block.reject(error)
    }
  }
}

async function syncDirectories(files: Pick<FileSystem, 'syncDirectory'>, dirs: ReadonlySet<string>): Promise<void> {
  const syncs = new Semaphore(SYNCS_AT_ONCE)
  await Promise.all([...dirs].map(dir => syncs.hold(1, () => files.syncDirectory(dir))))
}

function multihashOf(name: string): Uint8Array | null {
  if (!name.endsWith(EXTENSION)) return null
  try {
    return Digest.decode(base32upper.decode(name.slice(0, -EXTENSION.length))).bytes
  } catch {
    return null
  }
}

function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.has(fileErrorCode(error) ?? '')
}
