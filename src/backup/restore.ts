import { copyFile, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { LevelDatastore } from 'datastore-level'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { RESTORE_BACKUP } from '../config/option-names.ts'
import { BlockFiles } from '../content/block-files.ts'
import { isInside } from '../content/server-directory.ts'
import { directoryUnusable, ownDataDirectory } from '../disk/data-directory.ts'
import { DATABASE, RESTORING } from '../disk/file-names.ts'
import { nodeFileSystem, OWNERS_DIRECTORY, OWNERS_FILE } from '../disk/node-file-system.ts'
import { realPathOf } from '../disk/real-path.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { checkFields } from '../domain/known-fields.ts'
import { silentLogger } from '../domain/logger.ts'
import { matches } from '../ipld/block-hash.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import { DEFAULT_BACKEND_ID, type StoredBlock } from '../ledger/blocks.ts'
import { CopiedLedger, filesBesideCopy } from '../ledger/copied-ledger.ts'
import { lockDirectory } from '../storage/directory-lock.ts'
import { storeIn } from './block-copies.ts'
import { readIfThere } from './check.ts'
import { bringKeys } from './key-directory.ts'
import { type AnyManifest, measure, NO_MANIFEST, readManifest, unusable } from './manifest.ts'

/** Options that do not depend on the source and the target of a restore. */
export interface RestoreOptions {
  /** Path of the directory with the backup's keys. Default: `keys` in the backup. */
  keys?: string | undefined
  /**
   * Restores the backup even if blocks are damaged or missing. Their content stays damaged until it is uploaded again.
   * Default false: such a backup is not restored.
   */
  partial?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the number and total size in bytes of the blocks processed so far. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** The source, the target and the options of a restore. */
export interface RestoreBackupOptions extends RestoreOptions {
  /** Path of the backup: a directory written by `Engine.backup`. */
  backup: string
  /** Path of a missing or empty directory, which becomes the data directory. */
  dataDir: string
  /**
   * Restores the identity and session keys of the original node. Use it only if the original node is permanently gone.
   * Default false: the restored node is a new node.
   */
  sameNode?: boolean
}

/** The result of a restore. */
export interface RestoreOutcome {
  /** Absolute path of the data directory. */
  dataDir: string
  /** When the backup was made (RFC 3339, UTC). */
  createdAt: string
  /** Restored blocks, and their total size in bytes. */
  blocks: number
  bytes: number
  /** CIDs of the blocks that are damaged or missing in the backup. */
  damaged: string[]
  /**
   * Old path (`was`) and new path (`is`) of each cluster directory. Set the new paths as `dataDir` in the
   * configuration.
   */
  clusterDirs: Array<{ was: string; is: string }>
}

const BATCH = 256

/** Does the work of `restoreBackup` of the public API. */
export async function restored(options: RestoreBackupOptions): Promise<RestoreOutcome> {
  checkFields(options, RESTORE_BACKUP, 'restoreBackup')
  const directory = resolve(options.backup)
  const dataDir = resolve(options.dataDir)
  await keepApart(directory, dataDir)
  if ((await readManifest(directory)) === null) {
    throw unusable(directory, NO_MANIFEST)
  }
  const unlock = lockDirectory(directory, 'together')
  try {
    await checkEmpty(dataDir)
    const owned = await ownDataDirectory(dataDir, silentLogger, { isRestoring: true })
    try {
      // Another restore may have ended while this restore waited for the directory.
      await checkEmpty(dataDir)
      return await restoreInto(dataDir, { directory, options, datastore: owned.datastore })
    } finally {
      await owned.close()
    }
  } finally {
    unlock?.()
  }
}

async function keepApart(backup: string, dataDir: string): Promise<void> {
  const [from, to] = [await realPathOf(backup), await realPathOf(dataDir)]
  if (!isInside(from, to) && !isInside(to, from)) return
  throw new HoldfastError('VALIDATION', `dataDir: ${dataDir} overlaps the backup in ${backup}`)
}

/** Checks that a directory is missing, is empty, or contains only the files of an unfinished restore. */
async function checkEmpty(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((error: unknown) => {
    if (fileErrorCode(error) === 'ENOENT') return [] as string[]
    throw directoryUnusable(dataDir, error)
  })
  if (names.includes(DATABASE)) throw occupied(dataDir, 'is a data directory already')
  const others = names.filter(name => name !== 'datastore')
  if (others.length > 0 && !names.includes(RESTORING)) throw occupied(dataDir, 'is not empty')
}

function occupied(dataDir: string, problem: string): HoldfastError {
  return new HoldfastError('DATA_DIR_UNUSABLE', `${dataDir} ${problem}: restore into an empty directory`)
}

/** Restores a backup. Until the end, a file prevents engines from starting on the directory. */
async function restoreInto(
  dataDir: string,
  { directory, options, datastore }: { directory: string; options: RestoreBackupOptions; datastore: LevelDatastore },
): Promise<RestoreOutcome> {
  const { sameNode = false } = options
  const unfinished = join(dataDir, RESTORING)
  await (await open(unfinished, 'a', OWNERS_FILE)).close()
  await nodeFileSystem.syncDirectory(dataDir)
  const { manifest, ledger } = await copyDatabase(directory, unfinished)
  let outcome: RestoreOutcome
  try {
    const keys = resolve(options.keys ?? join(directory, 'keys'))
    ledger.forgetRuns()
    await bringKeys(dataDir, { keys, manifest, ledger, datastore, sameNode })
    const moved = await moveClusters(ledger, { from: manifest.dataDir ?? null, to: dataDir })
    const places = new Map([[DEFAULT_BACKEND_ID, dataDir], ...moved.map(({ id, is }) => [id, is] as const)])
    const clusterDirs = moved.map(({ was, is }) => ({ was, is }))
    const restored = await new RestoredBlocks(directory, places, ledger, options).run()
    if (restored.damaged.length > 0 && options.partial !== true) {
      const what = `${restored.damaged.length} blocks are missing or damaged, the first is ${restored.damaged[0]}`
      throw new HoldfastError('BLOCK_DAMAGED', `in the backup in ${directory}, ${what}`)
    }
    outcome = { dataDir, createdAt: manifest.createdAt, ...restored, clusterDirs }
  } finally {
    ledger.close()
  }
  await removeBeside(unfinished)
  await rename(unfinished, join(dataDir, DATABASE))
  await nodeFileSystem.syncDirectory(dataDir)
  return outcome
}

/** Checks the hash of the copied database. The caller closes the ledger. */
async function copyDatabase(
  directory: string,
  unfinished: string,
): Promise<{ manifest: AnyManifest; ledger: CopiedLedger }> {
  const manifest = await readManifest(directory)
  if (manifest === null) throw unusable(directory, NO_MANIFEST)
  const { file, bytes, sha256 } = manifest.database
  // Other files that an earlier attempt left belong to a different copy of the database.
  await removeBeside(unfinished)
  await copyFile(join(directory, file), unfinished).catch((cause: unknown) => {
    throw unusable(directory, `its database ${file} cannot be read`, cause)
  })
  const copied = await measure(unfinished)
  if (copied.bytes !== bytes || copied.sha256 !== sha256) throw unusable(directory, `its database ${file} is damaged`)
  return { manifest, ledger: new CopiedLedger(unfinished, { readonly: false }) }
}

async function removeBeside(unfinished: string): Promise<void> {
  for (const path of filesBesideCopy(unfinished)) await rm(path, { force: true })
}

interface MovedCluster {
  id: number
  was: string
  is: string
}

/**
 * Gives the cluster directories paths in the new data directory. A directory inside the old data directory keeps its
 * relative path. Any other gets a path below `clusters`.
 */
async function moveClusters(
  ledger: CopiedLedger,
  { from, to }: { from: string | null; to: string },
): Promise<MovedCluster[]> {
  const backends = ledger.backends()
  const isKept = ({ dataDir }: { dataDir: string }): boolean => from !== null && isInside(from, dataDir)
  const kept = new Map(backends.filter(isKept).map(({ id, dataDir }) => [id, join(to, relative(from ?? '', dataDir))]))
  const taken = new Set(kept.values())
  const moved: MovedCluster[] = []
  for (const backend of backends) {
    const is = kept.get(backend.id) ?? freePlace(join(to, 'clusters', String(backend.id)), taken)
    moved.push({ id: backend.id, was: backend.dataDir, is })
    await mkdir(is, { recursive: true, mode: OWNERS_DIRECTORY })
    if (backend.identity !== null) await replaceFile(join(is, 'identity'), `${backend.identity}\n`)
    ledger.moveBackend(backend, is)
  }
  return moved
}

function freePlace(path: string, taken: ReadonlySet<string>): string {
  return taken.has(path) ? freePlace(`${path}-moved`, taken) : path
}

class RestoredBlocks {
  readonly #directory: string
  /** Data directories by backend id. */
  readonly #places: ReadonlyMap<number, string>
  readonly #ledger: CopiedLedger
  readonly #options: RestoreOptions
  readonly #stores = new Map<number, { from: BlockFiles; to: BlockFiles }>()
  readonly #touched = new Set<string>()
  readonly #restored = { blocks: 0, bytes: 0, damaged: [] as string[] }

  constructor(directory: string, places: ReadonlyMap<number, string>, ledger: CopiedLedger, options: RestoreOptions) {
    this.#directory = directory
    this.#places = places
    this.#ledger = ledger
    this.#options = options
  }

  async run(): Promise<{ blocks: number; bytes: number; damaged: string[] }> {
    const { signal, onProgress } = this.#options
    for (let last = 0; ; ) {
      const batch = this.#ledger.durableAfter(last, BATCH)
      const end = batch.at(-1)
      if (end === undefined) break
      last = end.id
      for (const block of batch) await this.#take(block)
      onProgress?.({ blocks: this.#restored.blocks, bytes: this.#restored.bytes })
      signal?.throwIfAborted()
      if (turnSpent()) await nextTurn(signal)
    }
    for (const { to } of this.#stores.values()) {
      for (const [, error] of await to.sync(this.#touched)) throw error
    }
    return this.#restored
  }

  async #take(block: StoredBlock): Promise<void> {
    const { multihash, size, inline } = block
    const store = inline === 1 ? null : await this.#storeOf(block.backendId)
    const bytes = store === null ? this.#ledger.bytes(block.id) : await readIfThere(store.from, multihash, size)
    if (bytes === null && this.#ledger.isKeptExternally(block.id)) return
    if (bytes?.length !== size || !(await matches(multihash, bytes))) {
      this.#restored.damaged.push(cidOf({ codec: CODEC.raw, multihash }).toString())
      return
    }
    if (store !== null) this.#touched.add(await store.to.write(multihash, bytes))
    this.#restored.blocks++
    this.#restored.bytes += size
  }

  async #storeOf(backendId: number): Promise<{ from: BlockFiles; to: BlockFiles }> {
    const known = this.#stores.get(backendId)
    if (known !== undefined) return known
    const dataDir = this.#places.get(backendId)
    if (dataDir === undefined) throw unusable(this.#directory, `its database knows no backend ${backendId}`)
    const store = { from: new BlockFiles(storeIn(this.#directory, backendId)), to: new BlockFiles(dataDir) }
    await store.to.open()
    this.#stores.set(backendId, store)
    return store
  }
}
