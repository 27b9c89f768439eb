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

/** The last two base32 characters of a usual multihash, of 34 bytes, carry 5 bits and 2 bits. */
const SHARDS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'].flatMap(a => [...'AIQY'].map(b => a + b))
const SHARD = /^[A-Z2-7]{2}$/
const SHARD_LENGTH = 2
const EXTENSION = '.data'
/** What {@link BlockFiles} itself calls a file that is being written. */
const TEMPORARY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** A rename over something that is no file. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOTEMPTY', 'EEXIST', 'EPERM'])

/**
 * One file per block in the directory layout of blockstore-fs, which can open and read it. Writing is our own: a
 * name of its own for each attempt, data synced, then renamed, so that a file under its final name is whole.
 * The caller sees to the directory's sync, many blocks at a time.
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
   * @param dataDir holds `blocks/` and `tmp/`, which must be on one file system
   * @param threads write what is in shared memory, with `node:fs`; without them everything goes through `fileSystem`
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

  /** Creates the directories, and removes what writes that a crash cut short have left, as far as it can. */
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

  /** The file of a block, whether it is there or not. */
  pathOf(multihash: Uint8Array): string {
    const name = base32upper.encode(multihash)
    return join(this.#dir, name.slice(-SHARD_LENGTH), name + EXTENSION)
  }

  /** Writes a block whole. Returns the directory whose sync makes its name durable. */
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

  /** Whether the bytes of a block may lie elsewhere, from where {@link read} then gets them. */
  get isCache(): boolean {
    return false
  }

  /** The block's first `size` bytes; fewer if the file is shorter, null if there is none. */
  read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    return this.stored(multihash, size)
  }

  /** Has the bytes of a block on this disk, to stay, before a root that needs it is complete. */
  async bring(_multihash: Uint8Array, _size: number): Promise<void> {}

  /** Removes what need not be on this disk. */
  async trim(): Promise<void> {}

  /** Has nothing go that need not be on this disk, from when it resolves until the function is called. */
  async keepAll(): Promise<() => void> {
    return () => undefined
  }

  /** What {@link read} tells, of this disk alone. */
  async stored(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    try {
      return await this.fileSystem.read(this.pathOf(multihash), size)
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Of the block's file, in bytes; null if there is none. */
  size(multihash: Uint8Array): Promise<number | null> {
    return this.storedSize(multihash)
  }

  /** What {@link size} tells, of this disk alone. */
  async storedSize(multihash: Uint8Array): Promise<number | null> {
    try {
      return await this.fileSystem.size(this.pathOf(multihash))
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Removes the block's file if it is there. Returns the directory whose sync makes that durable. */
  async remove(multihash: Uint8Array): Promise<string> {
    const path = this.pathOf(multihash)
    try {
      await this.fileSystem.unlink(path)
    } catch (error) {
      if (fileErrorCode(error) !== 'ENOENT') throw error
    }
    return dirname(path)
  }

  /** Makes durable what {@link remove} has done in these directories. Returns those that could not be synced. */
  async sync(dirs: ReadonlySet<string>): Promise<ReadonlyMap<string, unknown>> {
    const failed = new Map<string, unknown>()
    const syncDirectory = (dir: string): Promise<void> =>
      this.fileSystem.syncDirectory(dir).catch((error: unknown) => {
        failed.set(dir, error)
      })
    await syncDirectories({ syncDirectory }, dirs)
    return failed
  }

  /** The names of the directories that blocks are in. */
  async directories(): Promise<string[]> {
    const names = await this.fileSystem.list(this.#dir)
    return names.filter(name => SHARD.test(name)).sort()
  }

  /** The multihashes of the blocks in one of the {@link directories}. What is no block's file is passed over. */
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
      // What is missing or in the way is seen to here; the thread only writes.
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
        // A multihash of another length than the usual one ends in a shard that is made when first needed.
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

/** Without anyone asking, blocks become durable in groups of this many. */
const GROUP = 256
/** Directory syncs at a time: enough for the file system to merge them, few enough to leave threads for writes. */
const SYNCS_AT_ONCE = 4

/**
 * The last step of a block written to a file: its directory is synced, then the ledger says `durable`. Both are
 * shared by all blocks that are waiting, and done when somebody needs it done or many are waiting.
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

  /** Makes durable all that has been added so far. Never throws: each block's own promise tells. */
  async flush(): Promise<void> {
    // A flush under way may have started before the newest block was added; it is followed by another.
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

/** Null if the name is not that of a block's file. */
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
