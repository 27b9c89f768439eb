import type { ClusterRegistry } from '../../clusters/cluster-registry.ts'
import { inTurns } from '../../concurrency/turns.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import {
  directoryName,
  resolveServerDirectory,
  type ServerEntry,
  walkServerDirectory,
} from '../../content/server-directory.ts'
import { attributeFields } from '../../content/unixfs/attributes.ts'
import { DirectoryBuilder } from '../../content/unixfs/directory-builder.ts'
import { splitEntryPath } from '../../content/unixfs/entry-path.ts'
import { directoryMemory } from '../../content/unixfs/held-memory.ts'
import { type StagedFile, stagedFile, stagedFiles } from '../../content/unixfs/staged-files.ts'
import { importSymlink } from '../../content/unixfs/symlink.ts'
import { type ImportedNode, importFile } from '../../content/unixfs/unixfs-import.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkedAttributes, type StoredAttributes } from '../../domain/file-attributes.ts'
import { interruptible } from '../../domain/sources.ts'
import type { PinCommit } from '../pin-commit.ts'
import {
  type ByteSource,
  type DagFile,
  type DirectoryOutcome,
  type HandOver,
  LISTED_FILES,
  type PinOutcome,
  type UploadOptions,
} from '../pin-types.ts'
import type { DirectoryEntries, DirectoryEntry, DirectoryImportOptions, FileUploadOptions } from '../upload-types.ts'
import type { UploadBudget } from './upload-budget.ts'
import type { Decided, StagedUpload, UploadStaging } from './upload-staging.ts'

/**
 * `names` is a function if the path is known only after the content. The uploaded directory itself has no names.
 * `isCounted` if a client names the directory: the limits of the plan apply to it.
 */
type StoredEntry = { attributes: StoredAttributes } & (
  | { kind: 'file'; names: string[] | (() => string[]); content: ByteSource }
  | { kind: 'directory'; names: string[]; isCounted?: true }
  | { kind: 'symlink'; names: string[]; target: string }
)

export interface UploaderParts {
  clusters: ClusterRegistry
  commit: PinCommit
  staging: UploadStaging
  /** Directories on the server that an import by path may read. */
  importRoots: readonly string[]
}

export class Uploader {
  readonly #parts: UploaderParts

  constructor(parts: UploaderParts) {
    this.#parts = parts
  }

  upload<T = never>(
    content: ByteSource,
    options: FileUploadOptions,
    handOver?: HandOver<Uint8Array, T>,
  ): Promise<PinOutcome | T> {
    const { staging } = this.#parts
    const attributes = attributeFields(checkedAttributes(options))
    return staging.run(options, 'file', async upload => {
      const { staged, budget } = upload
      budget.startFile()
      const file = await importFile(staged, content, { ...this.#importOptions(options, budget, staged), attributes })
      const decided = await staging.decide(upload.requester, options)
      if (decided.node === null) return this.#commit(upload, decided, { type: 'file', node: file })
      return staging.handOver(upload, decided, signal => stagedFile(staged, file.cid, signal), handOver)
    })
  }

  async importDirectory(dirPath: string, options: DirectoryImportOptions): Promise<DirectoryOutcome> {
    const directory = await resolveServerDirectory(this.#parts.importRoots, dirPath)
    const named = { ...options, name: options.name ?? directoryName(directory) }
    return this.#storeDirectory(preserving(walkServerDirectory(directory), options), named)
  }

  async uploadDirectory<T = never>(
    entries: DirectoryEntries,
    options: UploadOptions,
    handOver?: HandOver<StagedFile, T>,
  ): Promise<DirectoryOutcome | T> {
    return this.#storeDirectory(checkedEntries(entries), options, handOver)
  }

  #storeDirectory<T = never>(
    entries: AsyncIterable<StoredEntry>,
    options: UploadOptions,
    handOver?: HandOver<StagedFile, T>,
  ): Promise<DirectoryOutcome | T> {
    const { staging } = this.#parts
    return staging.run(options, 'directory', async upload => {
      const { staged } = upload
      const listing = new DirectoryListing(staged, handOver !== undefined)
      try {
        const root = await this.#storeEntries(upload, listing, entries, options).finally(() => listing.builder.free())
        const decided = await staging.decide(upload.requester, options)
        if (decided.node !== null) {
          return await staging.handOver(upload, decided, signal => listing.entries(signal), handOver)
        }
        const outcome = await this.#commit(upload, decided, { type: 'directory', node: root })
        return { ...outcome, files: listing.files, totalFiles: listing.totalFiles }
      } finally {
        listing.free()
      }
    })
  }

  /** Returns the root of the directory. */
  async #storeEntries(
    { staged, budget }: StagedUpload,
    listing: DirectoryListing,
    entries: AsyncIterable<StoredEntry>,
    options: UploadOptions,
  ): Promise<ImportedNode> {
    const unnamed: Array<{ names: () => string[]; node: ImportedNode; attributes: StoredAttributes }> = []
    for await (const entry of inTurns(interruptible(entries, options.signal), options.signal)) {
      const attributes = attributeFields(entry.attributes)
      if (entry.kind === 'directory') {
        if (entry.isCounted === true) budget.startDirectory()
        listing.addDirectory(entry)
      } else if (entry.kind === 'symlink') {
        listing.builder.addNode(entry.names, await importSymlink(staged, entry.target, attributes))
      } else {
        budget.startFile()
        const name = typeof entry.names === 'function' ? 'content' : `content of ${entry.names.join('/')}`
        const importOptions = { ...this.#importOptions(options, budget, staged), name, attributes }
        const node = await importFile(staged, entry.content, importOptions)
        if (typeof entry.names === 'function') unnamed.push({ ...entry, names: entry.names, node })
        else await listing.addFile(entry.names, node, entry.attributes)
      }
    }
    for (const { names, node, attributes } of unnamed) await listing.addFile(names(), node, attributes)
    return listing.builder.finish(options.signal)
  }

  async #commit(
    { staged, requester, giveBack }: StagedUpload,
    { settings, target }: Decided,
    { type, node }: { type: 'file' | 'directory'; node: ImportedNode },
  ): Promise<PinOutcome> {
    const { signal, token } = settings
    signal?.throwIfAborted()
    await staged.settle()
    const input = {
      requester,
      target,
      type,
      staged,
      cid: node.cid,
      cidText: node.cid.toString(),
      names: settings,
      backend: this.#parts.clusters.defaultBackend,
      signal,
      sizes: staged.sizes(node.size),
    }
    giveBack()
    return this.#parts.commit.commit(input, token?.id)
  }

  #importOptions(options: UploadOptions, budget: UploadBudget, staged: StagedDag) {
    const { signal, onProgress } = options
    return {
      signal,
      onBytes: budget.counting(staged, onProgress),
    }
  }
}

/** Memory of an entry that is kept for another node. */
const KEPT_BYTES = 192

class DirectoryListing {
  readonly builder: DirectoryBuilder
  readonly files: DagFile[] = []
  totalFiles = 0
  readonly #staged: StagedDag
  readonly #memory = directoryMemory.part()
  /** Attributes and directories for another node, which the staged DAG does not list. Null if the upload stays on this node. */
  readonly #kept: {
    directories: Array<{ path: string; attributes: StoredAttributes }>
    files: StoredAttributes[]
  } | null

  /** @param mayLeave true to keep what {@link entries} needs */
  constructor(staged: StagedDag, mayLeave: boolean) {
    this.#staged = staged
    this.#kept = mayLeave ? { directories: [], files: [] } : null
    this.builder = new DirectoryBuilder(staged)
  }

  addDirectory({ names, attributes }: { names: readonly string[]; attributes: StoredAttributes }): void {
    this.builder.addDirectory(names, attributeFields(attributes))
    if (this.#kept === null) return
    const path = names.join('/') || '.'
    this.#memory.take(KEPT_BYTES + path.length)
    this.#kept.directories.push({ path, attributes })
  }

  /** Yields the directories and files that were added. Requires that the staged DAG is settled. */
  async *entries(signal: AbortSignal): AsyncGenerator<StagedFile, void, undefined> {
    for (const directory of this.#kept?.directories ?? []) {
      yield { ...directory, isDirectory: true, content: (async function* () {})() }
    }
    yield* stagedFiles(this.#staged, this.#kept?.files ?? [], signal)
  }

  free(): void {
    this.#memory.free()
  }

  async addFile(names: string[], node: ImportedNode, attributes: StoredAttributes): Promise<void> {
    this.builder.addNode(names, node)
    const path = names.join('/')
    if (this.#kept !== null) {
      this.#memory.take(KEPT_BYTES)
      this.#kept.files.push(attributes)
    }
    this.totalFiles++
    if (this.files.length < LISTED_FILES) this.files.push({ path, cid: node.cid.toString(), size: node.size })
    await this.#staged.addFile(path, node.cid, node.size)
  }
}

async function* checkedEntries(entries: DirectoryEntries): AsyncGenerator<StoredEntry> {
  if (!isIterable(entries)) throw new HoldfastError('VALIDATION', 'entries must be an iterable of entries')
  let isEmpty = true
  for await (const entry of entries) {
    isEmpty = false
    yield checkedEntry(entry)
  }
  if (isEmpty) throw new HoldfastError('VALIDATION', 'files: at least one file is needed')
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)
}

/** Drops the attributes that the import does not ask for. */
async function* preserving(
  entries: AsyncIterable<ServerEntry>,
  { preserveMode = false, preserveMtime = false }: DirectoryImportOptions,
): AsyncGenerator<StoredEntry> {
  for await (const { attributes, ...entry } of entries) {
    const { mode, mtime } = attributes
    // As in Kubo, a symbolic link has no permissions.
    const hasMode = preserveMode && mode !== 0 && entry.kind !== 'symlink'
    yield { ...entry, attributes: { ...(hasMode && { mode }), ...(preserveMtime && { mtime }) } }
  }
}

function checkedEntry(entry: DirectoryEntry): StoredEntry {
  const path: unknown = entry?.path
  if (entry?.kind === 'file' && typeof path === 'function') {
    const attributes = checkedAttributes(entry, 'entries: ')
    return { kind: 'file', names: () => splitEntryPath(path()), content: entry.content, attributes }
  }
  if (typeof path !== 'string') throw new HoldfastError('VALIDATION', 'entries: each needs a path, a string')
  const attributes = checkedAttributes(entry, `entries: ${path}: `)
  if (entry.kind === 'directory' && path === '.') return { kind: 'directory', names: [], isCounted: true, attributes }
  const names = splitEntryPath(path)
  if (entry.kind === 'file') return { kind: 'file', names, content: entry.content, attributes }
  if (entry.kind === 'directory') return { kind: 'directory', names, isCounted: true, attributes }
  if (entry.kind === 'symlink' && typeof entry.target === 'string') {
    return { kind: 'symlink', names, target: entry.target, attributes }
  }
  throw new HoldfastError('VALIDATION', `entries: ${path} must be a file, a directory, or a symlink with a target`)
}
