import { join, resolve } from 'node:path'
import { bytePace, type Pace } from '../concurrency/pace.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { CHECK_BACKUP } from '../config/option-names.ts'
import { BlockFiles } from '../content/block-files.ts'
import { DATABASE } from '../disk/file-names.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { systemClock } from '../domain/clock.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { checkFields } from '../domain/known-fields.ts'
import { matches } from '../ipld/block-hash.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { StoredBlock } from '../ledger/blocks.ts'
import { CopiedLedger } from '../ledger/copied-ledger.ts'
import { lockDirectory } from '../storage/directory-lock.ts'
import { storeIn } from './block-copies.ts'
import { keyDirectory, keyProblems, repairKeys } from './key-directory.ts'
import { type AnyManifest, manifestPath, measure, NO_MANIFEST, readManifest, unusable } from './manifest.ts'

/** Options for checking a backup. */
export interface CheckBackupOptions {
  /** Path of the backup: a directory written by `Engine.backup`. */
  backup: string
  /** Path of the directory with the backup's keys. Default: the directory that the backup used. */
  keys?: string | undefined
  /**
   * Data directory from which damaged and missing files of the backup are replaced. The check only reads the data
   * directory.
   */
  repairFrom?: string | undefined
  /** Maximum read rate in bytes per second. Default: no limit. */
  bytesPerSecond?: number | undefined
  signal?: AbortSignal | undefined
  /** Called with the number and total size in bytes of the blocks read so far. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** The result of checking a backup. */
export interface CheckedBackup {
  /** Absolute path of the backup. */
  directory: string
  /** When the backup was made (RFC 3339, UTC). */
  createdAt: string
  /** Blocks that the check read, and their total size in bytes. */
  blocks: number
  bytes: number
  /** The first thousand problems. `what` is the path of a damaged or missing file, or the raw CID of a block. */
  problems: Array<{ what: string; problem: string }>
  /** Number of all problems. A backup without problems can be restored. */
  problemCount: number
  /** Number of repaired problems. */
  repaired: number
}

const BATCH = 256
const MOST_PROBLEMS = 1_000

/** Does the work of `checkBackup` of the public API. */
export async function checkedBackup(options: CheckBackupOptions): Promise<CheckedBackup> {
  checkFields(options, CHECK_BACKUP, 'checkBackup')
  const directory = resolve(options.backup)
  if ((await readManifest(directory)) === null) throw unusable(directory, NO_MANIFEST)
  const unlock = lockDirectory(directory, 'alone')
  try {
    const manifest = await readManifest(directory)
    if (manifest === null) throw unusable(directory, 'its manifest is gone')
    const startedAt = systemClock.now()
    const checked = await new Check(directory, manifest, options).run()
    if (unlock !== null && manifest.format !== 'holdfast-backup-1') {
      const lastFullRead = { at: new Date(startedAt).toISOString(), damaged: checked.problemCount }
      await replaceFile(manifestPath(directory), `${JSON.stringify({ ...manifest, lastFullRead }, null, 2)}\n`)
    }
    return checked
  } finally {
    unlock?.()
  }
}

class Check {
  readonly #directory: string
  readonly #manifest: AnyManifest
  readonly #options: CheckBackupOptions
  readonly #pace: Pace
  readonly #checked: CheckedBackup
  readonly #touched = new Set<string>()
  #sources: readonly BlockFiles[] = []

  constructor(directory: string, manifest: AnyManifest, options: CheckBackupOptions) {
    this.#directory = directory
    this.#manifest = manifest
    this.#options = options
    this.#pace = bytePace(options.bytesPerSecond, systemClock)
    const none = { blocks: 0, bytes: 0, problems: [], problemCount: 0, repaired: 0 }
    this.#checked = { directory, createdAt: manifest.createdAt, ...none }
  }

  async run(): Promise<CheckedBackup> {
    const { file, bytes, sha256 } = this.#manifest.database
    const path = join(this.#directory, file)
    const found = await measure(path, this.#pace).catch(() => null)
    if (found?.bytes !== bytes || found.sha256 !== sha256) {
      const problem = found === null ? 'missing or unreadable' : 'damaged'
      this.#report(path, `${problem}: back up again to replace it; blocks were not read`)
      return this.#checked
    }
    const { repairFrom } = this.#options
    if (repairFrom !== undefined) this.#sources = storesOf(resolve(repairFrom))
    const ledger = new CopiedLedger(path, { readonly: true })
    try {
      await this.#checkKeys(ledger)
      await this.#checkBlocks(ledger)
    } finally {
      ledger.close()
    }
    return this.#checked
  }

  async #checkKeys(ledger: CopiedLedger): Promise<void> {
    const { keys, repairFrom } = this.#options
    const directory = resolve(keys ?? keyDirectory(this.#directory, this.#manifest))
    const before = await keyProblems(directory, this.#manifest, ledger)
    if (before.length > 0 && repairFrom !== undefined) await repairKeys(directory, this.#manifest, resolve(repairFrom))
    const left = await keyProblems(directory, this.#manifest, ledger)
    this.#checked.repaired += before.length - left.length
    for (const { what, problem } of left) this.#report(what, problem)
  }

  async #checkBlocks(ledger: CopiedLedger): Promise<void> {
    const { signal, onProgress } = this.#options
    const stores = new Map<number, BlockFiles>()
    for (let last = 0; ; ) {
      const batch = ledger.durableAfter(last, BATCH)
      const end = batch.at(-1)
      if (end === undefined) break
      last = end.id
      for (const block of batch) {
        const store = stores.get(block.backendId) ?? new BlockFiles(storeIn(this.#directory, block.backendId))
        stores.set(block.backendId, store)
        await this.#checkBlock(block, store, ledger)
        if (turnSpent()) await nextTurn(signal)
      }
      onProgress?.({ blocks: this.#checked.blocks, bytes: this.#checked.bytes })
      signal?.throwIfAborted()
    }
    for (const store of stores.values()) {
      for (const [, error] of await store.sync(this.#touched)) throw error
      break
    }
  }

  async #checkBlock(block: StoredBlock, store: BlockFiles, ledger: CopiedLedger): Promise<void> {
    const { multihash, size, inline } = block
    await this.#pace.spend(size, this.#options.signal)
    const bytes = inline === 1 ? (ledger.bytes(block.id) ?? null) : await readIfThere(store, multihash, size)
    this.#checked.blocks++
    this.#checked.bytes += size
    if (bytes !== null && (await isWhole(block, bytes))) return
    if (bytes === null && ledger.isKeptExternally(block.id)) return
    if (inline === 0 && (await this.#repair(block, store))) return
    const cid = cidOf({ codec: CODEC.raw, multihash }).toString()
    this.#report(cid, bytes === null ? 'missing' : 'damaged')
  }

  /**
   * Writes a new file, because the damaged file may be a hard link into the data directory. Returns whether an
   * undamaged copy was found.
   */
  async #repair(block: StoredBlock, store: BlockFiles): Promise<boolean> {
    for (const source of this.#sources) {
      const bytes = await readIfThere(source, block.multihash, block.size)
      if (bytes === null || !(await isWhole(block, bytes))) continue
      this.#touched.add(await store.write(block.multihash, bytes))
      this.#checked.repaired++
      return true
    }
    return false
  }

  #report(what: string, problem: string): void {
    if (++this.#checked.problemCount <= MOST_PROBLEMS) this.#checked.problems.push({ what, problem })
  }
}

/** Returns the stores of a data directory, which a server may be using. */
function storesOf(dataDir: string): BlockFiles[] {
  const ledger = new CopiedLedger(join(dataDir, DATABASE), { readonly: true })
  try {
    return [dataDir, ...ledger.backends().map(backend => backend.dataDir)].map(path => new BlockFiles(path))
  } finally {
    ledger.close()
  }
}

async function isWhole({ multihash, size }: StoredBlock, bytes: Uint8Array): Promise<boolean> {
  return bytes.length === size && (await matches(multihash, bytes))
}

export async function readIfThere(files: BlockFiles, multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
  try {
    return await files.read(multihash, size)
  } catch (error) {
    if (fileErrorCode(error) === undefined) throw error
    return null
  }
}
