import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { FileSystem } from '../domain/file-system.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import { BlockFiles } from './block-files.ts'

/** Who else has the blocks of a directory, so that not all of them have to stay in it. */
export interface KeptElsewhere {
  /** The bytes of a block, checked. @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE` */
  fetch(cid: CID): Promise<Uint8Array>
  /** Whether everything that needs a block is kept there as well. */
  mayForget(multihash: Uint8Array): boolean
  /** Bytes of a block, as far as it is known. */
  sizeOf(multihash: Uint8Array): number
  /** Bytes of files up to which those stay that could go. */
  cacheBytes: number
}

/** Files that one look for some to remove passes, and one that a single new file brings about. */
const LOOKED_AT_ONCE = 65_536
const LOOKED_FOR_ONE = 64

/**
 * Block files of a backend that is elsewhere: what has still to get there, and of the rest what was used last. What is
 * missing is fetched when it is read.
 */
export class CachedBlockFiles extends BlockFiles {
  readonly #elsewhere: KeptElsewhere
  /** By multihash, those used longest ago first; bytes. */
  readonly #here = new Map<string, number>()
  #bytes = 0
  /** Files being removed, until they are. */
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #coming = new Map<string, Promise<Uint8Array>>()
  #trimming: Promise<void> | null = null
  /** How many want everything to stay. */
  #keepers = 0

  constructor(dataDir: string, elsewhere: KeptElsewhere, fileSystem?: FileSystem) {
    super(dataDir, null, fileSystem)
    this.#elsewhere = elsewhere
  }

  override get isCache(): boolean {
    return true
  }

  override async open(): Promise<void> {
    await super.open()
    for (const directory of await this.directories()) {
      for (const multihash of await this.blocksIn(directory)) this.#note(multihash, this.#elsewhere.sizeOf(multihash))
      if (turnSpent()) await nextTurn()
    }
  }

  override async write(multihash: Uint8Array, bytes: Uint8Array): Promise<string> {
    await this.#leaving.get(keyOf(multihash))
    const directory = await super.write(multihash, bytes)
    this.#note(multihash, bytes.length)
    return directory
  }

  override async stored(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    await this.#leaving.get(keyOf(multihash))
    return super.stored(multihash, size)
  }

  override async storedSize(multihash: Uint8Array): Promise<number | null> {
    await this.#leaving.get(keyOf(multihash))
    return super.storedSize(multihash)
  }

  /** What need not be here is taken to be whole where it is. */
  override async size(multihash: Uint8Array): Promise<number | null> {
    const here = await this.storedSize(multihash)
    if (here !== null || !this.#elsewhere.mayForget(multihash)) return here
    return this.#elsewhere.sizeOf(multihash)
  }

  /** From the disk, else from elsewhere. */
  override async read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    const stored = await this.stored(multihash, size)
    if (stored === null) return this.#fetch(multihash)
    this.#note(multihash, stored.length)
    return stored
  }

  /** A root that has still to get there needs it: then it has to be on the disk. */
  override async bring(multihash: Uint8Array, size: number): Promise<void> {
    if ((await this.stored(multihash, size)) !== null) return
    const bytes = await this.#fetch(multihash)
    await this.#keep(multihash, bytes)
  }

  override async remove(multihash: Uint8Array): Promise<string> {
    this.#forget(keyOf(multihash))
    return super.remove(multihash)
  }

  /** Removes files that need not be here until the others fit; one look at a time. */
  override trim(): Promise<void> {
    return this.#trimSome(LOOKED_AT_ONCE)
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

  /** What stays because of a failure is looked at again with the next. */
  #trimSoon(): void {
    this.#trimSome(LOOKED_FOR_ONE).catch(() => undefined)
  }

  async #trim(most: number): Promise<void> {
    const looks = Math.min(most, this.#here.size)
    let looked = 0
    for (const [key, size] of this.#here) {
      const isEnough = this.#bytes <= this.#elsewhere.cacheBytes || this.#keepers > 0
      if (isEnough || looked++ >= looks) return
      const multihash = Buffer.from(key, 'latin1')
      const isGone = await this.#leave(multihash)
      // What has to stay is looked at again after all others.
      if (!isGone && this.#here.delete(key)) this.#here.set(key, size)
      if (turnSpent()) await nextTurn()
    }
  }

  /**
   * From the look on, whoever wants the file waits until it is gone: a claim that the look did not see finds it missing,
   * and writes it anew.
   */
  async #leave(multihash: Uint8Array): Promise<boolean> {
    const key = keyOf(multihash)
    if (this.#leaving.has(key) || !this.#elsewhere.mayForget(multihash)) return false
    const gone = this.remove(multihash).then(
      () => undefined,
      () => undefined,
    )
    this.#leaving.set(key, gone)
    await gone
    this.#leaving.delete(key)
    return true
  }

  #fetch(multihash: Uint8Array): Promise<Uint8Array> {
    const key = keyOf(multihash)
    const known = this.#coming.get(key)
    if (known !== undefined) return known
    const coming = this.#elsewhere
      .fetch(cidOf({ codec: CODEC.raw, multihash }))
      .then(async bytes => {
        if (bytes.length <= this.#elsewhere.cacheBytes) await this.#keep(multihash, bytes)
        return bytes
      })
      .finally(() => this.#coming.delete(key))
    this.#coming.set(key, coming)
    return coming
  }

  async #keep(multihash: Uint8Array, bytes: Uint8Array): Promise<void> {
    const directory = await this.write(multihash, bytes)
    await this.fileSystem.syncDirectory(directory)
    this.#trimSoon()
  }

  #note(multihash: Uint8Array, size: number): void {
    const key = keyOf(multihash)
    this.#forget(key)
    this.#here.set(key, size)
    this.#bytes += size
  }

  #forget(key: string): void {
    this.#bytes -= this.#here.get(key) ?? 0
    this.#here.delete(key)
  }
}

function keyOf(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}
