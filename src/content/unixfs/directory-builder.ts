import type { StagedDag } from '../dag/staged-dag.ts'
import { NO_ATTRIBUTES } from './attributes.ts'
import { cidOfCompact, compactCid, type StoredEntry, storeDirectory } from './directory.ts'
import { pathRefusal } from './entry-path.ts'
import { directoryMemory } from './held-memory.ts'
import type { ImportedNode } from './unixfs-import.ts'

interface Folder {
  entries: Map<string, StoredEntry>
  folders: Map<string, Folder>
  /** Fields of `attributeFields`. */
  attributes: Uint8Array
}

/** Memory of an entry beside its name, also while {@link DirectoryBuilder.finish} sorts it into shards. */
const ENTRY_BYTES = 384
const ATTRIBUTE_BYTES = 128

/**
 * A directory that is being built. Its files are already stored. {@link finish} stores the directories above them. The
 * caller must call {@link free}.
 */
export class DirectoryBuilder {
  readonly #staged: StagedDag
  readonly #memory = directoryMemory.part()
  readonly #root = emptyFolder()
  #size = 0

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  /**
   * Adds a stored entry.
   *
   * @param names segments of the entry's path, already checked
   * @throws HoldfastError `INVALID_PATH` if the path already exists, or a parent is a file; `DIRECTORY_TOO_LARGE` or
   * `UNAVAILABLE` if no memory is left for another name
   */
  addNode(names: readonly string[], { cid, size, tsize }: ImportedNode): void {
    const name = names.at(-1) ?? ''
    const { entries, folders } = this.#folder(names.slice(0, -1), names)
    if (entries.has(name) || folders.has(name)) throw pathRefusal(names.join('/'), 'occurs twice')
    this.#memory.take(ENTRY_BYTES + name.length)
    entries.set(name, { cid: compactCid(cid), tsize })
    this.#size += size
  }

  /**
   * Adds a directory. May be called again, and after entries of the directory were added. Other attributes replace
   * earlier ones.
   *
   * @param names segments of the path; empty for the top directory
   * @throws HoldfastError with the codes of {@link addNode}
   */
  addDirectory(names: readonly string[], attributes = NO_ATTRIBUTES): void {
    const folder = this.#folder(names, names)
    if (attributes.length === 0) return
    if (folder.attributes.length === 0) this.#memory.take(ATTRIBUTE_BYTES)
    folder.attributes = attributes
  }

  /** @throws the reason of the signal */
  async finish(signal?: AbortSignal): Promise<ImportedNode> {
    const above: Array<{ folder: Folder; name: string }> = []
    for (let folder = this.#root; ; ) {
      const [inner] = folder.folders
      if (inner !== undefined) {
        above.push({ folder, name: inner[0] })
        folder = inner[1]
        continue
      }
      const { entries, attributes } = folder
      const stored = await storeDirectory(this.#staged, entries, { attributes, signal })
      const parent = above.pop()
      if (parent === undefined) return { cid: cidOfCompact(stored.cid), size: this.#size, tsize: stored.tsize }
      // The parent needs only the link, so free the memory of the children.
      parent.folder.folders.delete(parent.name)
      parent.folder.entries.set(parent.name, stored)
      folder = parent.folder
    }
  }

  free(): void {
    this.#memory.free()
  }

  #folder(names: readonly string[], path: readonly string[]): Folder {
    let folder = this.#root
    for (const name of names) {
      if (folder.entries.has(name)) throw pathRefusal(path.join('/'), 'is both a file and a directory')
      let next = folder.folders.get(name)
      if (next === undefined) {
        this.#memory.take(ENTRY_BYTES + name.length)
        next = emptyFolder()
        folder.folders.set(name, next)
      }
      folder = next
    }
    return folder
  }
}

function emptyFolder(): Folder {
  return { entries: new Map(), folders: new Map(), attributes: NO_ATTRIBUTES }
}
