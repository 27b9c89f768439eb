import { constants } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { BlockFiles } from '../content/block-files.ts'
import { isInside } from '../content/server-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { nodeFileSystem, OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { matches } from '../domain/block-hash.ts'
import { CODEC, cidOf } from '../domain/cid.ts'
import { nextTurn, turnSpent } from '../domain/concurrency/turns.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { DEFAULT_BACKEND_ID, type StoredBlock } from '../ledger/blocks.ts'
import { CopiedLedger } from '../ledger/copied-ledger.ts'
import { storeIn } from './back-up.ts'
import { bringKeys } from './keys.ts'
import { measure, readManifest, unusable } from './manifest.ts'

/** How a backup is restored. */
export interface RestoreOptions {
  /** Where the keys of the backup are; default `keys` in it. */
  keys?: string | undefined
  /**
   * Go on where blocks are damaged or missing: what needs them is then damaged, until the same content is uploaded
   * again. Default false: nothing is restored then.
   */
  partial?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the blocks gone through so far, and their bytes. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** What is restored, where, and how. */
export interface RestoreBackupOptions extends RestoreOptions {
  /** What `Engine.backup` has written. */
  backup: string
  /** Missing or empty; becomes a data directory. */
  dataDir: string
  /**
   * Keep the identity by which other nodes know this one, and the keys that sign sessions: for when the node of the
   * backup is gone for good. Default false: the copy is a node of its own.
   */
  sameNode?: boolean
}

/** What has been restored. */
export interface RestoreOutcome {
  /** Absolute. */
  dataDir: string
  /** When the backup was made: RFC 3339, UTC. */
  createdAt: string
  /** Blocks that were restored, and their bytes. */
  blocks: number
  bytes: number
  /** CIDs of blocks that the backup does not have whole. */
  damaged: string[]
  /** Directories that clusters have of their own, which the configuration has to name as their `dataDir`. */
  clusterDirs: Array<{ was: string; is: string }>
}

const BATCH = 256

/**
 * Makes a data directory of a backup, every block checked by its hash. The directory is one only once all of it is on
 * the disk: the database goes in last. No engine may be using it yet.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` for a backup that is not whole, `DATA_DIR_UNUSABLE` for a directory that is
 * not empty, `DATA_DIR_NEWER`, `BLOCK_DAMAGED` for damage, unless it is to be accepted
 */
export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoreOutcome> {
  const directory = resolve(options.backup)
  const dataDir = resolve(options.dataDir)
  const { sameNode = false } = options
  const manifest = await readManifest(directory)
  if (manifest === null) throw unusable(directory, 'it has no manifest, so it was never finished')
  const { file, bytes, sha256 } = manifest.database
  const stored = await measure(join(directory, file)).catch(cause => {
    throw unusable(directory, `its database ${file} cannot be read`, cause)
  })
  if (stored.bytes !== bytes || stored.sha256 !== sha256) throw unusable(directory, `its database ${file} is damaged`)
  await prepare(dataDir)
  const unfinished = join(dataDir, `${DATABASE}.restored`)
  await copyFile(join(directory, file), unfinished, constants.COPYFILE_EXCL)
  const ledger = new CopiedLedger(unfinished, { readonly: false })
  let outcome: RestoreOutcome
  try {
    await bringKeys(dataDir, { keys: resolve(options.keys ?? join(directory, 'keys')), ledger, sameNode })
    const moved = await moveClusters(ledger, { from: manifest.dataDir ?? null, to: dataDir })
    const places = new Map([[DEFAULT_BACKEND_ID, dataDir], ...moved.map(({ id, is }) => [id, is] as const)])
    const clusterDirs = moved.map(({ was, is }) => ({ was, is }))
    const restored = await new RestoredBlocks(directory, places, ledger, options).run()
    if (restored.damaged.length > 0 && options.partial !== true) {
      const what = `${restored.damaged.length} blocks, the first is ${restored.damaged[0]}`
      throw new HoldfastError('BLOCK_DAMAGED', `the backup in ${directory} lacks or has damaged ${what}`)
    }
    outcome = { dataDir, createdAt: manifest.createdAt, ...restored, clusterDirs }
  } finally {
    ledger.close()
  }
  await rename(unfinished, join(dataDir, DATABASE))
  await nodeFileSystem.syncDirectory(dataDir)
  return outcome
}

async function prepare(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: OWNERS_DIRECTORY })
  const names = await readdir(dataDir)
  if (names.includes(DATABASE)) throw occupied(dataDir, 'is a data directory already')
  // What an attempt that failed has left is begun anew.
  if (names.length > 0 && !names.includes(`${DATABASE}.restored`)) throw occupied(dataDir, 'is not empty')
  for (const name of names) await rm(join(dataDir, name), { recursive: true })
}

function occupied(dataDir: string, problem: string): HoldfastError {
  return new HoldfastError('DATA_DIR_UNUSABLE', `${dataDir} ${problem}: a backup is restored into an empty directory`)
}

interface MovedCluster {
  id: number
  was: string
  is: string
}

/**
 * Stores that clusters had outside the data directory come below the new one; those inside keep their places. Each is
 * known by its file `identity`.
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

/** The blocks of a backup on their way to a new data directory. */
class RestoredBlocks {
  readonly #directory: string
  /** The data directory of each backend. */
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
    if (bytes === null && this.#ledger.isKeptElsewhere(block.id)) return
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

/** What cannot be read is missing. */
async function readIfThere(files: BlockFiles, multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
  try {
    return await files.read(multihash, size)
  } catch (error) {
    if (fileErrorCode(error) === undefined) throw error
    return null
  }
}
