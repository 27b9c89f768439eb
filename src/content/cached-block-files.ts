import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { FileSystem } from '../domain/file-system.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import { keyOfMultihash } from '../ipld/multihash-key.ts'
import { BlockFiles } from './block-files.ts'

export interface ExternalBlocks {
  /** Fetches a block and checks its hash. @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE` */
  fetch(cid: CID): Promise<Uint8Array>
  /** Returns whether the backend stores all DAGs that need the block. */
  mayEvict(multihash: Uint8Array): boolean
  /** Returns 0 if the size is unknown. */
  sizeOf(multihash: Uint8Array): number
  /** Maximum total size of the cached files in bytes. Files that may not be evicted can exceed this maximum. */
  cacheBytes: number
}

/** Maximum number of files that a trim checks: a requested trim, and a trim after a write. */
const CHECKED_PER_TRIM = 65_536
const CHECKED_PER_WRITE = 64

/** Caches the block files of an external backend. Never evicts a block that the backend does not have yet. */
export class CachedBlockFiles extends BlockFiles {
  readonly #external: ExternalBlocks
  /** Size in bytes by multihash, least recently used first. */
  readonly #cached = new Map<string, number>()
  #bytes = 0
  readonly #evicting = new Map<string, Promise<void>>()
  readonly #fetching = new Map<string, Promise<Uint8Array>>()
  #trimming: Promise<void> | null = null
  /** Callers of {@link keepAll} that still prevent evictions. */
  #keepers = 0

  constructor(dataDir: string, external: ExternalBlocks, fileSystem?: FileSystem) {
    super(dataDir, null, fileSystem)
    this.#external = external
  }

  override get isCache(): boolean {
    return true
  }

  override async open(): Promise<void> {
    await super.open()
    for (const directory of await this.directories()) {
      for (const multihash of await this.blocksIn(directory)) this.#touch(multihash, this.#external.sizeOf(multihash))
      if (turnSpent()) await nextTurn()
    }
  }

  override async write(multihash: Uint8Array, bytes: Uint8Array): Promise<string> {
    await this.#evicting.get(keyOfMultihash(multihash))
    const directory = await super.write(multihash, bytes)
    this.#touch(multihash, bytes.length)
    return directory
  }

  override async stored(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    await this.#evicting.get(keyOfMultihash(multihash))
    return super.stored(multihash, size)
  }

  override async storedSize(multihash: Uint8Array): Promise<number | null> {
    await this.#evicting.get(keyOfMultihash(multihash))
    return super.storedSize(multihash)
  }

  /** Returns the size in bytes of the file, or of the backend's block if the file is missing. */
  override async size(multihash: Uint8Array): Promise<number | null> {
    const here = await this.storedSize(multihash)
    if (here !== null || !this.#external.mayEvict(multihash)) return here
    return this.#external.sizeOf(multihash)
  }

  override async read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    const stored = await this.stored(multihash, size)
    if (stored === null) return this.#fetch(multihash)
    this.#touch(multihash, stored.length)
    return stored
  }

  /** Fetches a block to the disk, for a root that is not on the backend yet. */
  override async bring(multihash: Uint8Array, size: number): Promise<void> {
    if ((await this.stored(multihash, size)) !== null) return
    const bytes = await this.#fetch(multihash)
    await this.#keep(multihash, bytes)
  }

  override async remove(multihash: Uint8Array): Promise<string> {
    this.#forget(keyOfMultihash(multihash))
    return super.remove(multihash)
  }

  /** Evicts blocks until the cache fits. Concurrent calls share one trim. */
  override trim(): Promise<void> {
    return this.#trimSome(CHECKED_PER_TRIM)
  }

  #trimSome(most: number): Promise<void> {
    this.#trimming ??= this.#trim(most).finally(() => {
      this.#trimming = null
    })
    return this.#trimming
  }

  override async keepAll(): Promise<() => void> {
    this.#keepers++
    await this.#trimming
    return () => {
      this.#keepers--
      this.#trimSoon()
    }
  }

  /** Starts a trim of a few files. If it fails, the next one checks the remaining files again. */
  #trimSoon(): void {
    this.#trimSome(CHECKED_PER_WRITE).catch(() => undefined)
  }

  async #trim(most: number): Promise<void> {
    const looks = Math.min(most, this.#cached.size)
    let looked = 0
    for (const [key, size] of this.#cached) {
      const isEnough = this.#bytes <= this.#external.cacheBytes || this.#keepers > 0
      if (isEnough || looked++ >= looks) return
      const multihash = Buffer.from(key, 'latin1')
      const isGone = await this.#evict(multihash)
      // The file cannot be evicted now, so move its entry to the end of the queue.
      if (!isGone && this.#cached.delete(key)) this.#cached.set(key, size)
      if (turnSpent()) await nextTurn()
    }
  }

  /**
   * Evicts a file, and delays every access to the file until then. A put that claims the block during the eviction
   * finds the file missing, and writes it again.
   */
  async #evict(multihash: Uint8Array): Promise<boolean> {
    const key = keyOfMultihash(multihash)
    if (this.#evicting.has(key) || !this.#external.mayEvict(multihash)) return false
    const gone = this.remove(multihash).then(
      () => undefined,
      () => undefined,
    )
    this.#evicting.set(key, gone)
    await gone
    this.#evicting.delete(key)
    return true
  }

  #fetch(multihash: Uint8Array): Promise<Uint8Array> {
    const key = keyOfMultihash(multihash)
    const known = this.#fetching.get(key)
    if (known !== undefined) return known
    const coming = this.#external
      .fetch(cidOf({ codec: CODEC.raw, multihash }))
      .then(async bytes => {
        if (bytes.length <= this.#external.cacheBytes) await this.#keep(multihash, bytes)
        return bytes
      })
      .finally(() => this.#fetching.delete(key))
    this.#fetching.set(key, coming)
    return coming
  }

  async #keep(multihash: Uint8Array, bytes: Uint8Array): Promise<void> {
    const directory = await this.write(multihash, bytes)
    await this.fileSystem.syncDirectory(directory)
    this.#trimSoon()
  }

  #touch(multihash: Uint8Array, size: number): void {
    const key = keyOfMultihash(multihash)
    this.#forget(key)
    this.#cached.set(key, size)
    this.#bytes += size
  }

  #forget(key: string): void {
    this.#bytes -= this.#cached.get(key) ?? 0
    this.#cached.delete(key)
  }
}
