import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** A change of a file not yet synced: bytes at an offset, or, without bytes, a new length. */
type Change = { at: number; order: number; bytes: Uint8Array } | { at: number; order: number; bytes: null }

/** A file with its synced content and its pending changes. */
export class SimulatedFile {
  /** Buffer with spare capacity, so that a growing file is not copied at each write. */
  #room = Buffer.alloc(0)
  #durable = 0
  #pending: Change[] = []
  /** Length as a reader sees it. */
  length = 0

  write(at: number, bytes: Uint8Array, order: number): void {
    this.#pending.push({ at, order, bytes })
    this.length = Math.max(this.length, at + bytes.length)
  }

  truncate(length: number, order: number): void {
    this.#pending.push({ at: length, order, bytes: null })
    this.length = length
  }

  /** Makes all changes before this point durable. */
  keep(before: number): void {
    const kept = this.#pending.filter(change => change.order < before)
    this.#pending = this.#pending.filter(change => change.order >= before)
    for (const change of kept) this.#apply(change)
  }

  get durable(): Uint8Array {
    return this.#room.subarray(0, this.#durable)
  }

  #apply({ at, bytes }: Change): void {
    if (bytes === null) {
      // A file that is truncated and grows again has zeros in the gap.
      this.#room.fill(0, at)
      this.#grow(at)
      this.#durable = at
      return
    }
    this.#grow(at + bytes.length)
    this.#room.set(bytes, at)
    this.#durable = Math.max(this.#durable, at + bytes.length)
  }

  #grow(length: number): void {
    if (length <= this.#room.length) return
    const grown = Buffer.alloc(length * 2)
    this.#room.copy(grown)
    this.#room = grown
  }
}

/** Entries of a directory: the current ones, and those at its last sync. */
export class SimulatedDirectory {
  readonly entries = new Map<string, SimulatedNode>()
  #durable: ReadonlyMap<string, SimulatedNode> = new Map()
  #keptAt = 0

  keep(entries: ReadonlyMap<string, SimulatedNode>, before: number): void {
    if (before < this.#keptAt) return
    this.#keptAt = before
    this.#durable = entries
  }

  get durable(): ReadonlyMap<string, SimulatedNode> {
    return this.#durable
  }
}

export type SimulatedNode = SimulatedFile | SimulatedDirectory

/**
 * A disk that keeps only synced data, by the strict rules of POSIX. Syncing a file keeps its bytes and length, but not
 * its name. Syncing a directory keeps the names in it.
 */
export class SimulatedDisk {
  readonly #home: string
  readonly #root = new SimulatedDirectory()
  /** Number of the next operation, so that a sync covers only operations before its beginning. */
  #order = 1

  /** @param home the directory to simulate, which exists and is empty */
  constructor(home: string) {
    this.#home = home
  }

  /** Returns the file or directory at a path; undefined if it does not exist or lies outside. */
  find(path: string): SimulatedNode | undefined {
    if (path === this.#home) return this.#root
    const place = this.#place(path)
    return place?.directory.entries.get(place.name)
  }

  createFile(path: string): SimulatedFile | undefined {
    const place = this.#place(path)
    if (place === undefined) return undefined
    const file = new SimulatedFile()
    place.directory.entries.set(place.name, file)
    this.#order++
    return file
  }

  makeDirectory(path: string): void {
    const place = this.#place(path)
    place?.directory.entries.set(place.name, new SimulatedDirectory())
    this.#order++
  }

  remove(path: string): void {
    const place = this.#place(path)
    place?.directory.entries.delete(place.name)
    this.#order++
  }

  rename(from: string, to: string): void {
    const [old, place] = [this.#place(from), this.#place(to)]
    const node = old?.directory.entries.get(old.name)
    if (old === undefined || place === undefined || node === undefined) return
    old.directory.entries.delete(old.name)
    place.directory.entries.set(place.name, node)
    this.#order++
  }

  write(file: SimulatedFile, at: number, bytes: Uint8Array): void {
    file.write(at, bytes, this.#order++)
  }

  truncate(file: SimulatedFile, length: number): void {
    file.truncate(length, this.#order++)
  }

  /** Begins a sync. Call the returned function at its end; only then is the data durable. */
  beginSync(node: SimulatedNode): () => void {
    const began = this.#order
    if (node instanceof SimulatedFile) return () => node.keep(began)
    const entries = new Map(node.entries)
    return () => node.keep(entries, began)
  }

  /** Writes the disk's state after a power cut into an empty directory. */
  leaveIn(dir: string): void {
    const leave = (directory: SimulatedDirectory, path: string): void => {
      for (const [name, node] of directory.durable) {
        const at = join(path, name)
        if (node instanceof SimulatedFile) writeFileSync(at, node.durable, { mode: 0o600 })
        else {
          mkdirSync(at, { mode: 0o700 })
          leave(node, at)
        }
      }
    }
    leave(this.#root, dir)
  }

  #place(path: string): { directory: SimulatedDirectory; name: string } | undefined {
    const inside = relative(this.#home, path)
    if (inside === '' || inside.startsWith('..')) return undefined
    const names = inside.split(sep)
    const name = names.pop()
    let directory: SimulatedNode | undefined = this.#root
    for (const above of names)
      directory = directory instanceof SimulatedDirectory ? directory.entries.get(above) : undefined
    return directory instanceof SimulatedDirectory && name !== undefined ? { directory, name } : undefined
  }
}
