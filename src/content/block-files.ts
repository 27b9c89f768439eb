import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { NextToLast } from 'blockstore-fs/sharding'
import { CODEC, cidOf } from '../domain/cid.ts'
import { type BlockThreads, isShared } from './block-threads.ts'
import { syncDirectory } from './file-system.ts'

const USUAL_MULTIHASH_BYTES = 34
/** The last two base32 characters of a 34-byte multihash carry 5 bits and 2 bits. */
const SHARDS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'].flatMap(a => [...'AIQY'].map(b => a + b))

/**
 * One file per block in the directory layout of blockstore-fs, which can open and read it. Writing is our own: a
 * name of its own for each attempt, data synced, then renamed, so that a file under its final name is whole.
 * The caller sees to the directory's sync, many blocks at a time.
 */
export class BlockFiles {
  readonly #dir: string
  readonly #tempDir: string
  readonly #layout = new NextToLast()

  readonly #threads: BlockThreads | null

  /**
   * @param dataDir holds `blocks/` and `tmp/`, which must be on one file system
   * @param threads write what is in shared memory; without them everything goes through libuv's pool
   */
  constructor(dataDir: string, threads: BlockThreads | null = null) {
    this.#threads = threads
    this.#dir = join(dataDir, 'blocks')
    this.#tempDir = join(dataDir, 'tmp')
  }

  /** Creates the directories, and removes what writes that a crash cut short have left. */
  async open(): Promise<void> {
    await mkdir(this.#tempDir, { recursive: true })
    await mkdir(this.#dir, { recursive: true })
    const there = new Set(await readdir(this.#dir))
    const missing = SHARDS.filter(shard => !there.has(shard))
    for (const shard of missing) await mkdir(join(this.#dir, shard), { recursive: true })
    if (missing.length > 0) await syncDirectory(this.#dir)
    for (const name of await readdir(this.#tempDir)) await rm(join(this.#tempDir, name), { force: true })
  }

  /** Writes a block whole. Returns the directory whose sync makes its name durable. */
  async write(multihash: Uint8Array, bytes: Uint8Array): Promise<string> {
    const { dir, file } = this.#place(multihash)
    const temp = join(this.#tempDir, randomUUID())
    try {
      // Of other multihashes the shard may have to be made first.
      const isUsual = multihash.length === USUAL_MULTIHASH_BYTES && isShared(bytes)
      if (this.#threads !== null && isUsual) await this.#threads.write(temp, join(dir, file), bytes)
      else await this.#writeHere(temp, dir, file, bytes)
    } catch (error) {
      await rm(temp, { force: true }).catch(() => undefined)
      throw error
    }
    return dir
  }

  /** The block's first `size` bytes; fewer if the file is shorter, null if there is none. */
  async read(multihash: Uint8Array, size: number): Promise<Uint8Array | null> {
    const { dir, file } = this.#place(multihash)
    let handle: Awaited<ReturnType<typeof open>>
    try {
      handle = await open(join(dir, file), 'r')
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
    try {
      const bytes = Buffer.allocUnsafeSlow(size)
      let length = 0
      while (length < size) {
        const { bytesRead } = await handle.read(bytes, length, size - length, length)
        if (bytesRead === 0) break
        length += bytesRead
      }
      return length === size ? bytes : bytes.subarray(0, length)
    } finally {
      await handle.close()
    }
  }

  /** Removes the block's file if it is there. */
  async remove(multihash: Uint8Array): Promise<void> {
    const { dir, file } = this.#place(multihash)
    try {
      await unlink(join(dir, file))
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  #place(multihash: Uint8Array): { dir: string; file: string } {
    const { dir, file } = this.#layout.encode(cidOf({ codec: CODEC.raw, multihash }))
    return { dir: join(this.#dir, dir), file }
  }

  async #writeHere(temp: string, dir: string, file: string, bytes: Uint8Array): Promise<void> {
    const handle = await open(temp, 'wx')
    try {
      await writeAll(handle, bytes)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await this.#moveInto(temp, dir, file)
  }

  async #moveInto(temp: string, dir: string, file: string): Promise<void> {
    try {
      await rename(temp, join(dir, file))
    } catch (error) {
      if (!isNotFound(error)) throw error
      // A multihash of another length than the usual one ends in a shard that is made when first needed.
      await mkdir(dir, { recursive: true })
      await syncDirectory(this.#dir)
      await rename(temp, join(dir, file))
    }
  }
}

async function writeAll(handle: Awaited<ReturnType<typeof open>>, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written, written)).bytesWritten
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
