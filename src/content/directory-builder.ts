import { refusal } from './entry-path.ts'
import type { StagedDag } from './staged-dag.ts'
import { type ImportedNode, importDirectory } from './unixfs-import.ts'

interface Folder {
  children: Map<string, Folder | ImportedNode>
}

/** A directory as it grows: entries are stored already, the directories above them are stored by {@link finish}. */
export class DirectoryBuilder {
  readonly #staged: StagedDag
  readonly #root: Folder = { children: new Map() }

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  /**
   * @param names the entry's path, already checked
   * @throws HoldfastError `INVALID_PATH` if the path is taken, or one on the way is a file.
   */
  addNode(names: readonly string[], node: ImportedNode): void {
    const name = names.at(-1) ?? ''
    const folder = this.#folder(names.slice(0, -1), names)
    if (folder.children.has(name)) throw refusal(names.join('/'), 'is there twice')
    folder.children.set(name, node)
  }

  /** Adds a directory, which may be empty and may be there already. */
  addDirectory(names: readonly string[]): void {
    this.#folder(names, names)
  }

  /** Stores all directories, the innermost first. Returns the root. */
  finish(): Promise<ImportedNode> {
    return this.#store(this.#root)
  }

  async #store(folder: Folder): Promise<ImportedNode> {
    const entries: Array<[string, ImportedNode]> = []
    for (const [name, child] of folder.children) {
      entries.push([name, 'children' in child ? await this.#store(child) : child])
    }
    // A parent needs only the link, so its children may go.
    folder.children.clear()
    return importDirectory(this.#staged, entries)
  }

  #folder(names: readonly string[], path: readonly string[]): Folder {
    let folder = this.#root
    for (const name of names) {
      let next = folder.children.get(name)
      if (next === undefined) {
        next = { children: new Map() }
        folder.children.set(name, next)
      }
      if (!('children' in next)) throw refusal(path.join('/'), 'is both a file and a directory')
      folder = next
    }
    return folder
  }
}
