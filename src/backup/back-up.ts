import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bytePace, type Pace } from '../concurrency/pace.ts'
import type { BlockFiles } from '../content/block-files.ts'
import { isInside } from '../content/server-directory.ts'
import { makeNamedDirectory } from '../disk/make-directory.ts'
import { realPathOf } from '../disk/real-path.ts'
import { replaceFile } from '../disk/replace-file.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { VERSION } from '../domain/version.ts'
import { CopiedLedger } from '../ledger/copied-ledger.ts'
import { LOCK, lockDirectory } from '../storage/directory-lock.ts'
import { BlockCopies, type CopiedBlocks, removeUnlisted } from './block-copies.ts'
import { claimKeys, type KeyFiles, storeKeys } from './key-directory.ts'
import { type AnyManifest, MANIFEST, type Manifest, manifestPath, measure, readManifest } from './manifest.ts'
import { checkSameNode, countRoots, hasPrivate } from './same-node.ts'
import { UnfinishedRuns } from './unfinished.ts'

/** The parts of an engine that a backup reads. */
export interface BackupSource {
  dataDir: string
  /** Copies the database, which may be in use, into a new file, and syncs the file. */
  copyDatabase(file: string, signal?: AbortSignal): Promise<void>
  /** By backend id. */
  blockFiles: ReadonlyMap<number, BlockFiles>
  deletion: {
    /** Stops deletion until the caller calls the returned function, exactly once. */
    hold(): Promise<() => Promise<void>>
  }
  clock: Clock
  keys(): Promise<KeyFiles>
}

/** Options of a backup. */
export interface BackupOptions {
  /** Absolute path of the directory for the key files. Default: `keys` in the backup. */
  keys?: string | undefined
  /**
   * Replaces the existing backup even if it is of another node or has more than twice as many roots as this node.
   * Default false.
   */
  force?: boolean | undefined
  /** Maximum read rate in bytes per second. Default: the engine's option `backupBytesPerSecond`. */
  bytesPerSecond?: number | undefined
  signal?: AbortSignal | undefined
  /** Called with the number and total size in bytes of the blocks processed so far. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** The result of a backup. */
export interface BackupOutcome {
  /** Absolute path of the backup directory. */
  directory: string
  /** Absolute path of the directory with the key files. */
  keys: string
  /** When the backup began (RFC 3339, UTC). The backup contains every write acknowledged before this time. */
  createdAt: string
  /** Number of the backup. Each backup into the same directory increments it. */
  sequence: number
  /** Size of the copied database in bytes. Small blocks are stored in the database. */
  databaseBytes: number
  /**
   * Blocks in the backup: block files, and small blocks in the database. The previous backup did not have `newBlocks`.
   * This run replaced the damaged files of `mendedBlocks`.
   */
  blocks: number
  newBlocks: number
  mendedBlocks: number
  /** Total size of the blocks in bytes. */
  bytes: number
  /** The first thousand CIDs of blocks that the data directory itself has lost or damaged. */
  missing: string[]
  /** When the whole backup was last read (RFC 3339, UTC), and how many damaged blocks were found; null if never. */
  lastFullRead: { at: string; damaged: number } | null
}

/** Matches the files of a backup whose manifest is damaged, which `force` replaces. */
const BACKUP_FILE = /^(stores|keys|database-[0-9a-z]+\.db(-journal)?)$/
/** Matches the manifest and its temporary files. */
const MANIFEST_FILE = /^(manifest|unfinished)\.json/

/**
 * Backs up a data directory, even while an engine uses it. Copies the database, and then every block that the copied
 * database lists. Blocks become hard links where possible. A repeated backup into the same directory adds only new
 * blocks. The previous backup stays usable until the new backup is complete.
 *
 * @throws HoldfastError `VALIDATION` if the directory overlaps the data directory or contains other files, or the
 * rate is not above 0; `CONFLICT` if another process uses the directory, or its backup is of another node or has more
 * than twice as many roots; `BACKUP_UNUSABLE` if the manifest cannot be read
 */
export async function backUp(source: BackupSource, to: string, options: BackupOptions = {}): Promise<BackupOutcome> {
  const directory = resolve(to)
  const keys = resolve(options.keys ?? join(directory, 'keys'))
  const pace = bytePace(options.bytesPerSecond, source.clock)
  await prepare(source, { directory, keys, force: options.force === true })
  const unlock = lockDirectory(directory, 'alone')
  if (unlock === null) throw new HoldfastError('VALIDATION', `directory: ${directory} cannot be written`)
  try {
    return await new Run(source, { directory, keys }, options, pace).run()
  } finally {
    unlock()
  }
}

/** Refuses a directory with files that do not belong to a backup. */
async function prepare(
  { dataDir, blockFiles }: BackupSource,
  { directory, keys, force }: { directory: string; keys: string; force: boolean },
): Promise<void> {
  const stores = await Promise.all(
    [dataDir, ...[...blockFiles.values()].map(files => resolve(files.dataDir))].map(realPathOf),
  )
  const real = await realPathOf(directory)
  if (stores.some(store => isInside(store, real) || isInside(real, store))) {
    throw new HoldfastError('VALIDATION', `directory: ${directory} overlaps a data directory`)
  }
  const realKeys = await realPathOf(keys)
  if (stores.some(store => isInside(store, realKeys))) {
    throw new HoldfastError('VALIDATION', `keys: ${keys} is inside a data directory`)
  }
  makeNamedDirectory('directory', directory)
  const manifest = await lastManifest(directory, force)
  if (manifest !== null) return
  const names = await readdir(directory)
  const unfinished = await UnfinishedRuns.read(directory)
  const isReplaced = names.includes(MANIFEST)
  const isOurs = (name: string): boolean =>
    name === LOCK ||
    MANIFEST_FILE.test(name) ||
    unfinished?.mayHaveLeft(name) === true ||
    (isReplaced && BACKUP_FILE.test(name))
  if (names.some(name => !isOurs(name))) {
    throw new HoldfastError('VALIDATION', `directory: ${directory} is neither empty nor a backup: name a new directory`)
  }
}

class Run {
  readonly #source: BackupSource
  readonly #to: { directory: string; keys: string }
  readonly #options: BackupOptions
  readonly #pace: Pace

  constructor(source: BackupSource, to: { directory: string; keys: string }, options: BackupOptions, pace: Pace) {
    this.#source = source
    this.#to = to
    this.#options = options
    this.#pace = pace
  }

  async run(): Promise<BackupOutcome> {
    const { blockFiles, deletion } = this.#source
    // An external cluster may receive content during the backup. In the copied database, this content is only on this
    // node, so keep its blocks.
    const keeping = [...blockFiles.values()].map(files => files.keepAll())
    const release = await deletion.hold()
    try {
      await Promise.all(keeping)
      return await this.#whileKept(await lastManifest(this.#to.directory, this.#options.force === true))
    } finally {
      await release()
      for (const end of await Promise.all(keeping)) end()
    }
  }

  async #whileKept(previous: AnyManifest | null): Promise<BackupOutcome> {
    const { directory } = this.#to
    const { clock, copyDatabase } = this.#source
    const createdAt = clock.now()
    const sequence = sequenceOf(previous) + 1
    const unfinished = (await UnfinishedRuns.read(directory)) ?? UnfinishedRuns.none(directory)
    const { file, complete, giveUp } = await unfinished.begin(sequence, previous?.database.file ?? null)
    await copyDatabase(join(directory, file), this.#options.signal)
    const copy = new CopiedLedger(join(directory, file), { readonly: true })
    const last = previous === null ? null : ledgerOf(directory, previous)
    try {
      const roots = await countRoots(copy, createdAt)
      const keys = await this.#admit(previous, copy, roots).catch(async (error: unknown) => {
        await giveUp()
        throw error
      })
      const copied = await this.#copyBlocks(previous, copy, last)
      const manifest: Manifest = {
        format: (await hasPrivate(copy)) ? 'holdfast-backup-3' : 'holdfast-backup-2',
        version: VERSION,
        createdAt: new Date(createdAt).toISOString(),
        node: copy.node() ?? '',
        sequence,
        dataDir: this.#source.dataDir,
        database: { file, ...(await measure(join(directory, file), this.#pace)) },
        roots,
        blocks: { count: copied.blocks, bytes: copied.bytes },
        missing: copied.missing,
        keys: { directory: this.#externalKeys(), files: await storeKeys(this.#to.keys, keys) },
        lastFullRead: fullReadBy(previous, createdAt),
      }
      await this.#complete(previous, manifest)
      // SQLite on Windows keeps an open file.
      last?.close()
      await removeUnlisted(directory, copy)
      await complete()
      return this.#outcomeOf(manifest, copied)
    } finally {
      last?.close()
      copy.close()
    }
  }

  /** Checks that this node may replace the previous backup. Returns the keys to store. */
  async #admit(previous: AnyManifest | null, copy: CopiedLedger, roots: number): Promise<KeyFiles> {
    const { directory } = this.#to
    const now = this.#source.clock.now()
    if (previous !== null && this.#options.force !== true)
      await checkSameNode(directory, previous, { copy, roots, now })
    const keys = await this.#source.keys()
    // With `force`, the node replaces a key directory of another node inside the backup.
    const isReplaced = this.#options.force === true && this.#externalKeys() === null
    await claimKeys(this.#to.keys, { node: copy.node() ?? '', keys, isReplaced })
    return keys
  }

  #copyBlocks(previous: AnyManifest | null, copy: CopiedLedger, last: CopiedLedger | null): Promise<CopiedBlocks> {
    const { signal, onProgress } = this.#options
    return new BlockCopies({
      blockFiles: this.#source.blockFiles,
      directory: this.#to.directory,
      trustsUnchanged: trustsUnchanged(previous),
      isNew: ({ backendId, multihash }) => last?.has(backendId, multihash) !== true,
      pace: this.#pace,
      signal,
      onProgress,
    }).run(copy)
  }

  #externalKeys(): string | null {
    return this.#to.keys === join(this.#to.directory, 'keys') ? null : this.#to.keys
  }

  /**
   * Writes the manifest, which completes the backup. On a file system without locks, another run may have used the
   * directory.
   * @throws HoldfastError `CONFLICT` if another run has replaced the manifest
   */
  async #complete(previous: AnyManifest | null, manifest: Manifest): Promise<void> {
    const { directory } = this.#to
    const now = await lastManifest(directory, this.#options.force === true)
    if (now?.database.sha256 !== previous?.database.sha256 || sequenceOf(now) !== sequenceOf(previous)) {
      throw new HoldfastError('CONFLICT', `another run has replaced the backup in ${directory}: repeat this one`)
    }
    await replaceFile(manifestPath(directory), `${JSON.stringify(manifest, null, 2)}\n`)
  }

  #outcomeOf({ createdAt, sequence, database, lastFullRead }: Manifest, copied: CopiedBlocks): BackupOutcome {
    return { ...this.#to, createdAt, sequence, databaseBytes: database.bytes, ...copied, lastFullRead }
  }
}

function lastManifest(directory: string, force: boolean): Promise<AnyManifest | null> {
  return readManifest(directory).catch((error: unknown) => {
    if (force && isHoldfastError(error, 'BACKUP_UNUSABLE')) return null
    throw error
  })
}

function sequenceOf(manifest: AnyManifest | null): number {
  return manifest === null || manifest.format === 'holdfast-backup-1' ? 0 : manifest.sequence
}

/**
 * Returns whether unchanged blocks of the last backup need no check: each was hashed when it was added, and no later
 * check has found damage.
 */
function trustsUnchanged(previous: AnyManifest | null): boolean {
  return previous !== null && previous.format !== 'holdfast-backup-1' && (previous.lastFullRead?.damaged ?? 0) === 0
}

/** Returns the last full read of a backup. It is this run if the previous backup is not trusted. */
function fullReadBy(previous: AnyManifest | null, createdAt: number): Manifest['lastFullRead'] {
  if (previous === null) return null
  if (!trustsUnchanged(previous)) return { at: new Date(createdAt).toISOString(), damaged: 0 }
  return previous.format === 'holdfast-backup-1' ? null : previous.lastFullRead
}

/** Opens the database of the previous backup. Returns null if it is damaged. */
function ledgerOf(directory: string, { database }: AnyManifest): CopiedLedger | null {
  try {
    return new CopiedLedger(join(directory, database.file), { readonly: true })
  } catch (error) {
    if (isHoldfastError(error)) return null
    throw error
  }
}
