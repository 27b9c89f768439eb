import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import * as Digest from 'multiformats/hashes/digest'
import { Semaphore } from '../concurrency/semaphore.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import { type FileSystem, fileErrorCode, madeDirectory } from '../domain/file-system.ts'
import type { Claims } from '../ledger/claims.ts'
import { type BlockThreads, isShared } from './block-threads.ts'
import { Quarantine } from './quarantine.ts'
import { StoreWatch } from './store-watch.ts'

/** The last two base32 characters of the usual multihash, of 34 bytes, have 5 bits and 2 bits. */
const SHARDS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'].flatMap(a => [...'AIQY'].map(b => a + b))
const SHARD = /^[A-Z2-7]{2}$/
const SHARD_LENGTH = 2
const EXTENSION = '.data'
/** Names that {@link BlockFiles} gives to files during a write. */
const TEMPORARY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Error codes of a rename onto something other than a file. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOTEMPTY', 'EEXIST', 'EPERM'])

/**
 * One file per block, in the directory layout of blockstore-fs, which can open and read it. Each write uses a unique
 * temporary name, syncs the data, and then renames the file: a file under its final name is whole. The caller syncs the
 * directory, for many blocks at a time.
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
   * @param dataDir has `blocks/` and `tmp/`, which must be on one file system
   * @param threads write blocks in shared memory, with `node:fs`; without them everything goes through `fileSystem`
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

  /** Creates the directories, and removes files of writes that a crash interrupted. */
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

  /** Returns the path of a block's file, also of a missing one. */
  pathOf(multihash: Uint8Array): string {
    const name = base32upper.encode(multihash)
    return join(this.#dir, name.slice(-SHARD_LENGTH), name + EXTENSION)
  }

  /** Writes a block whole. Returns the directory to sync so that the name is durable. */
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

  /** True if {@link read} also gets blocks that are not on this disk. */
  get isCache(): boolean {
    return false
  }

  /** Returns the block's first `size` bytes; fewer if the file is shorter, null if there is no file. */
  read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    return this.stored(multihash, size)
  }

  /** Makes sure that a block is on this disk, to stay, before a root that needs it is complete. */
  async bring(_multihash: Uint8Array, _size: number): Promise<void> {}

  /** Evicts files that need not be on this disk. */
  async trim(): Promise<void> {}

  /** Keeps all files, from when it resolves until the caller calls the returned function. */
  async keepAll(): Promise<() => void> {
    return () => undefined
  }

  /** Reads like {@link read}, from this disk only. */
  async stored(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    try {
      return await this.fileSystem.read(this.pathOf(multihash), size)
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Returns the bytes of the block's file; null if there is none. */
  size(multihash: Uint8Array): Promise<number | null> {
    return this.storedSize(multihash)
  }

  /** Returns the {@link size} of a file on this disk only. */
  async storedSize(multihash: Uint8Array): Promise<number | null> {
    try {
      return await this.fileSystem.size(this.pathOf(multihash))
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Removes the block's file if it exists. Returns the directory to sync so that the removal is durable. */
  async remove(multihash: Uint8Array): Promise<string> {
    const path = this.pathOf(multihash)
    try {
      await this.fileSystem.unlink(path)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT') throw error
    }
    return dirname(path)
  }

  /** Syncs directories, which makes {@link remove} durable. Returns the errors by directory. */
  async sync(dirs: ReadonlySet<string>): Promise<ReadonlyMap<string, unknown>> {
    const failed = new Map<string, unknown>()
    const syncDirectory = (dir: string): Promise<void> =>
      this.fileSystem.syncDirectory(dir).catch((error: unknown) => {
        failed.set(dir, error)
      })
    await syncDirectories({ syncDirectory }, dirs)
    return failed
  }

  /** Returns the names of the directories with block files. */
  async directories(): Promise<string[]> {
    const names = await this.fileSystem.list(this.#dir)
    return names.filter(name => SHARD.test(name)).sort()
  }

  /** Returns the multihashes of the blocks in one of the {@link directories}. Skips other files. */
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
      // The thread only writes; this thread handles a missing directory, or one in place of the file.
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
        // A multihash of unusual length is in a shard that is created when first needed.
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

/** Number of waiting blocks that starts a flush. */
const GROUP = 256
/** Concurrent directory syncs: enough for the file system to merge them, few enough to leave threads for writes. */
const SYNCS_AT_ONCE = 4

/**
 * Last step of a block written to a file: syncs its directory, then marks the block as durable. All waiting blocks
 * share both. A flush runs on request or when many blocks wait.
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

  /** Resolves when the block under `dir` is durable, which may need a {@link flush}. */
  add(blockId: number, dir: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ blockId, dir, resolve, reject })
      if (this.#waiting.length >= GROUP) void this.flush()
    })
  }

  /** Makes all blocks added so far durable. Never throws: the promise of each block reports its error. */
  async flush(): Promise<void> {
    // A running flush may have started before the newest block was added; another one follows it.
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

/** Syncs directories, a few at a time. */
async function syncDirectories(files: Pick<FileSystem, 'syncDirectory'>, dirs: ReadonlySet<string>): Promise<void> {
  const syncs = new Semaphore(SYNCS_AT_ONCE)
  await Promise.all([...dirs].map(dir => syncs.hold(1, () => files.syncDirectory(dir))))
}

/** Returns null if the name is not that of a block's file. */
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
