import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { BlockFiles } from '../content/block-files.ts'
import type { Collector } from '../content/collector.ts'
import { isInside } from '../content/server-directory.ts'
import { nodeFileSystem, OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { CODEC, cidOf } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { nextTurn, turnSpent } from '../domain/concurrency/turns.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { VERSION } from '../domain/version.ts'
import type { StoredBlock } from '../ledger/blocks.ts'
import { CopiedLedger } from '../ledger/copied-ledger.ts'
import { type Manifest, manifestPath, measure, readManifest } from './manifest.ts'

/** What is backed up. */
export interface BackupSource {
  dataDir: string
  /** Copies the database while it is in use into a new file, synced. */
  copyDatabase(file: string, signal?: AbortSignal): Promise<void>
  /** By backend id. */
  blockFiles: ReadonlyMap<number, BlockFiles>
  collector: Pick<Collector, 'hold'>
  clock: Clock
  /** Copies keys of the data directory into a directory, synced. */
  copyKeys(directory: string): Promise<void>
}

/** How a backup is made. */
export interface BackupOptions {
  /** Where the keys of the data directory go, absolute; default `keys` in the backup. */
  keys?: string | undefined
  signal?: AbortSignal | undefined
  /** Called with the blocks gone through so far, and their bytes. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** What has been backed up. */
export interface BackupOutcome {
  /** Where it is, absolute. */
  directory: string
  /** Where its keys are, absolute. */
  keys: string
  /** RFC 3339, UTC: all that was acknowledged before is in it. */
  createdAt: string
  /** Of the copied database, small blocks included. */
  databaseBytes: number
  /** In the backup, and of those the ones that it did not have before. */
  blocks: number
  newBlocks: number
  /** Of all blocks in the backup. */
  bytes: number
  /** CIDs of blocks that the store itself has lost, at most a thousand. */
  missing: string[]
}

const BATCH = 256
const MOST_MISSING = 1_000
/** A link that the file system cannot make, for whatever reason, is a copy instead. */
const NO_LINKS = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EACCES', 'ENOSYS'])

/** Where a backup keeps the block files of a backend, in the layout of a data directory. */
export function storeIn(directory: string, backendId: number): string {
  return join(directory, 'stores', String(backendId))
}

/**
 * Backs a data directory up while it is in use: the database first, then every block that it knows, by link where the
 * file system can, while nothing is deleted. In a directory that has a backup already only what is new is added, and the
 * one before stays usable until this one is whole.
 *
 * @throws HoldfastError `VALIDATION` for a directory inside the data directory, or one that holds anything else;
 * `BACKUP_UNUSABLE` if its manifest cannot be read
 */
export async function backUp(source: BackupSource, to: string, options: BackupOptions = {}): Promise<BackupOutcome> {
  const directory = resolve(to)
  const keys = resolve(options.keys ?? join(directory, 'keys'))
  await prepare(source, directory)
  // What comes to be elsewhere meanwhile is said by the database to be here alone.
  const keeping = [...source.blockFiles.values()].map(files => files.keepAll())
  const release = await source.collector.hold()
  try {
    await Promise.all(keeping)
    const createdAt = source.clock.now()
    const file = `database-${createdAt.toString(36)}.db`
    await rm(join(directory, file), { force: true })
    await source.copyDatabase(join(directory, file), options.signal)
    const copy = new CopiedLedger(join(directory, file), { readonly: true })
    try {
      const copied = await new BlockCopies(source, directory, options).run(copy)
      await mkdir(keys, { recursive: true, mode: OWNERS_DIRECTORY })
      await source.copyKeys(keys)
      const manifest: Manifest = {
        format: 'holdfast-backup-1',
        version: VERSION,
        createdAt: new Date(createdAt).toISOString(),
        dataDir: source.dataDir,
        database: { file, ...(await measure(join(directory, file))) },
        blocks: { count: copied.blocks, bytes: copied.bytes },
        missing: copied.missing,
      }
      await replaceFile(manifestPath(directory), `${JSON.stringify(manifest, null, 2)}\n`)
      await prune(directory, copy, file)
      const { database, createdAt: at } = manifest
      return { directory, keys, createdAt: at, databaseBytes: database.bytes, ...copied }
    } finally {
      copy.close()
    }
  } finally {
    release()
    for (const end of await Promise.all(keeping)) end()
  }
}

/** Makes the directory, or sees that what is in it is a backup. */
async function prepare({ dataDir, blockFiles }: BackupSource, directory: string): Promise<void> {
  const stores = [dataDir, ...[...blockFiles.values()].map(files => resolve(files.dataDir))]
  if (stores.some(store => isInside(store, directory) || isInside(directory, store))) {
    throw new HoldfastError('VALIDATION', `directory: ${directory} and a data directory lie in each other`)
  }
  await mkdir(directory, { recursive: true, mode: OWNERS_DIRECTORY })
  const manifest = await readManifest(directory)
  const isOurs = (name: string): boolean => /^(stores|keys|database-[0-9a-z]+\.db(-journal)?)$/.test(name)
  const others = (await readdir(directory)).filter(name => !name.startsWith('manifest.json') && !isOurs(name))
  if (manifest === null && others.length > 0) {
    throw new HoldfastError('VALIDATION', `directory: ${directory} is not empty, and has no backup in it`)
  }
}

/** The blocks of one backup on their way to it. */
class BlockCopies {
  readonly #source: BackupSource
  readonly #directory: string
  readonly #options: BackupOptions
  readonly #targets = new Map<number, BlockFiles>()
  readonly #touched = new Set<string>()
  readonly #copied = { blocks: 0, newBlocks: 0, bytes: 0, missing: [] as string[] }

  constructor(source: BackupSource, directory: string, options: BackupOptions) {
    this.#source = source
    this.#directory = directory
    this.#options = options
  }

  /** All blocks that a copy of the ledger knows and that are files; on the disk when this resolves. */
  async run(ledger: CopiedLedger): Promise<{ blocks: number; newBlocks: number; bytes: number; missing: string[] }> {
    const { signal, onProgress } = this.#options
    for (let last = 0; ; ) {
      const batch = ledger.durableAfter(last, BATCH)
      const end = batch.at(-1)
      if (end === undefined) break
      last = end.id
      for (const block of batch) if (block.inline === 0) await this.#take(block, ledger)
      onProgress?.({ blocks: this.#copied.blocks, bytes: this.#copied.bytes })
      signal?.throwIfAborted()
      if (turnSpent()) await nextTurn(signal)
    }
    const [files] = this.#source.blockFiles.values()
    const failed = (await files?.sync(this.#touched)) ?? new Map()
    for (const [, error] of failed) throw error
    return this.#copied
  }

  async #take(block: StoredBlock, ledger: CopiedLedger): Promise<void> {
    const target = await this.#targetOf(block.backendId)
    const source = this.#source.blockFiles.get(block.backendId)
    const to = target.pathOf(block.multihash)
    const has = source !== undefined && (await this.#put(source.pathOf(block.multihash), to, block.size))
    if (has) {
      this.#copied.blocks++
      this.#copied.bytes += block.size
    } else if (this.#copied.missing.length < MOST_MISSING && !ledger.isKeptElsewhere(block.id)) {
      this.#copied.missing.push(cidOf({ codec: CODEC.raw, multihash: block.multihash }).toString())
    }
  }

  /** False if the block is not where it should be. */
  async #put(from: string, to: string, size: number): Promise<boolean> {
    const there = await stat(to).catch(() => null)
    if (there?.size === size) return true
    if (there !== null) await rm(to)
    try {
      await this.#linkOrCopy(from, to)
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') return false
      throw error
    }
    this.#touched.add(dirname(to))
    this.#copied.newBlocks++
    return true
  }

  async #linkOrCopy(from: string, to: string): Promise<void> {
    try {
      await link(from, to)
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') await mkdir(dirname(to), { recursive: true, mode: OWNERS_DIRECTORY })
      else if (!NO_LINKS.has(fileErrorCode(error) ?? '')) throw error
      await copyFile(from, to, constants.COPYFILE_FICLONE)
      const file = await open(to, 'r')
      await file.sync().finally(() => file.close())
    }
  }

  async #targetOf(backendId: number): Promise<BlockFiles> {
    const known = this.#targets.get(backendId)
    if (known !== undefined) return known
    const dir = storeIn(this.#directory, backendId)
    await mkdir(dir, { recursive: true, mode: OWNERS_DIRECTORY })
    await nodeFileSystem.syncDirectory(dirname(dir))
    await nodeFileSystem.syncDirectory(this.#directory)
    const files = new BlockFiles(dir)
    await files.open()
    this.#targets.set(backendId, files)
    return files
  }
}

/** Takes out of a backup what only those before it needed, and what attempts that failed have left. */
async function prune(directory: string, ledger: CopiedLedger, database: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith('database-') && name !== database) await rm(join(directory, name), { force: true })
  }
  for (const backend of await readdir(join(directory, 'stores')).catch(() => [])) {
    const files = new BlockFiles(storeIn(directory, Number(backend)))
    for (const shard of await files.directories()) {
      for (const multihash of await files.blocksIn(shard)) {
        if (!ledger.hasFile(Number(backend), multihash)) await files.remove(multihash)
        if (turnSpent()) await nextTurn()
      }
    }
  }
}
