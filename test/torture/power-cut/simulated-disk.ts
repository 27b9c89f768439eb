import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** A change of a file that is not synced yet: bytes at a place, or another length. */
type Change = { at: number; order: number; bytes: Uint8Array } | { at: number; order: number; bytes: null }

/** What a file has kept, and what it would lose. */
export class SimulatedFile {
  /** Longer than what is kept, so that a file that grows is not copied each time. */
  #room = Buffer.alloc(0)
  #durable = 0
  #pending: Change[] = []
  /** As a reader sees it. */
  length = 0

  write(at: number, bytes: Uint8Array, order: number): void {
    this.#pending.push({ at, order, bytes })
    this.length = Math.max(this.length, at + bytes.length)
  }

  truncate(length: number, order: number): void {
    this.#pending.push({ at: length, order, bytes: null })
    this.length = length
  }

  /** Everything that was done before that moment is kept from now on. */
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
      // What a file is cut down to and grows again from is zeros.
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

/** Names of a directory: as they are, and as they were when it was last synced. */
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
 * A disk that keeps only what was synced, by the strict rules of POSIX: a file's sync keeps its bytes and its length,
 * but neither its name nor the directories above; names are kept by the sync of the directory that they are in.
 */
export class SimulatedDisk {
  readonly #home: string
  readonly #root = new SimulatedDirectory()
  /** Counts what is done, so that a sync covers what was done before it began and nothing that came later. */
  #order = 1

  /** @param home the directory whose inside is simulated; it is there, and empty */
  constructor(home: string) {
    this.#home = home
  }

  /** What has this path; undefined for what is not there, and for paths outside. */
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

  /** A sync begins. Call what is returned when it has ended; until then it has kept nothing. */
  beginSync(node: SimulatedNode): () => void {
    const began = this.#order
    if (node instanceof SimulatedFile) return () => node.keep(began)
    const entries = new Map(node.entries)
    return () => node.keep(entries, began)
  }

  /** Writes what a power cut leaves into an existing empty directory. */
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
