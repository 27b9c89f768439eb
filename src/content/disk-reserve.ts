import { randomFillSync } from 'node:crypto'
import { join } from 'node:path'
import { underName } from '../concurrency/work.ts'
import { BALLAST } from '../disk/file-names.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type DiskSpace, type FileSystem, fileErrorCode } from '../domain/file-system.ts'
import type { StoreWatch } from './store-watch.ts'

const LARGEST_RESERVE = 64 * 1024 ** 2
const RESERVE_SHARE = 0.05
const LARGEST_BALLAST = 8 * 1024 ** 2
/** What is written of the ballast at a time; the size of a chunk. */
const PIECE = 1024 ** 2
/** For so long what was seen of the disk is believed while there is plenty. */
const FRESH_MS = 1_000
const LOOK_EVERY_MS = 10_000

export interface DiskReserveOptions {
  dataDir: string
  files: FileSystem
  clock: Clock
  /** Bytes that new content leaves free; by default the lesser of 64 MiB and 5 % of the file system. */
  reserveBytes?: number | undefined
  /** Whether blocks can be kept there. */
  watch: Pick<StoreWatch, 'look' | 'problem'>
  /** Whether to keep a file to give up when even deleting finds no room. */
  hasBallast: boolean
}

/** Room on the disk of a data directory as last seen, in bytes. */
export interface DiskState {
  freeBytes: number
  reserveBytes: number
  /** Whether a whole chunk of new content would be refused. */
  isFull: boolean
}

/**
 * Keeps room on a disk to delete with: content is refused while less than the reserve is free. For a disk that others
 * have filled there is the ballast, a file that is given up, so that a deletion can be committed, and written again
 * once there is room.
 */
export class DiskReserve {
  readonly #options: DiskReserveOptions
  #state: DiskState | null = null
  #seenAt = 0
  /** Bytes that may be taken in before the disk is looked at again. */
  #left = 0
  #looking: Promise<DiskState> | null = null
  #cancelTimer: (() => void) | null = null
  #maintaining: Promise<void> | null = null
  #stopped = false

  constructor(options: DiskReserveOptions) {
    this.#options = options
  }

  /** What was last seen; null before anybody has looked. */
  get state(): DiskState | null {
    return this.#state
  }

  /** Looks at the disk from time to time, from now on, and keeps the ballast. */
  start(): void {
    if (this.#stopped) return
    this.#cancelTimer = this.#options.clock.after(this.#state === null ? 0 : LOOK_EVERY_MS, () => {
      this.#maintaining = underName('disk reserve', () => this.maintain())
        .catch(() => undefined)
        .finally(() => this.start())
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#maintaining
  }

  /**
   * Admits so many bytes of new content. Null if that needed no look at the disk.
   *
   * @throws HoldfastError `STORAGE_FULL` if less than the reserve would be left, `UNAVAILABLE` if blocks cannot be kept
   */
  admit(bytes: number): Promise<void> | null {
    if (
      this.#options.watch.problem === null &&
      this.#left >= bytes &&
      this.#options.clock.now() - this.#seenAt < FRESH_MS
    ) {
      this.#left -= bytes
      return null
    }
    return this.#admit(bytes)
  }

  async #admit(bytes: number): Promise<void> {
    const { clock, watch } = this.#options
    // Once a second while something is wrong, so that it goes on soon after that is over.
    if (watch.problem !== null && clock.now() - this.#seenAt >= FRESH_MS) await watch.look()
    const { freeBytes, reserveBytes } = await this.look()
    if (watch.problem !== null) throw new HoldfastError('UNAVAILABLE', 'the node cannot keep new content at the moment')
    if (freeBytes - bytes < reserveBytes) {
      throw new HoldfastError('STORAGE_FULL', 'the node has no space left for new content')
    }
    this.#left = Math.max(0, this.#left - bytes)
  }

  /** Looks at the disk now. */
  look(): Promise<DiskState> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<DiskState> {
    const { files, dataDir, clock } = this.#options
    // A file system that does not tell is not a full one.
    const unknown: DiskSpace = { freeBytes: Number.MAX_SAFE_INTEGER, totalBytes: 0 }
    const { freeBytes, totalBytes } = await files.space(dataDir).catch(() => unknown)
    const reserveBytes = this.#options.reserveBytes ?? Math.min(LARGEST_RESERVE, Math.floor(totalBytes * RESERVE_SHARE))
    const state = { freeBytes, reserveBytes, isFull: freeBytes - PIECE < reserveBytes }
    this.#state = state
    this.#seenAt = clock.now()
    // What has been admitted and not yet written is not seen, so never all of it is admitted by one look.
    this.#left = Math.max(0, Math.floor((freeBytes - reserveBytes) / 2))
    return state
  }

  /** Looks at the disk, and writes the ballast if there is none and room for it. */
  async maintain(): Promise<void> {
    await this.#options.watch.look()
    const { freeBytes, reserveBytes } = await this.look()
    const ballastBytes = Math.min(LARGEST_BALLAST, Math.floor(reserveBytes / 2))
    if (!this.#options.hasBallast || ballastBytes === 0 || freeBytes - ballastBytes < reserveBytes) return
    const { files, dataDir } = this.#options
    if (!(await files.list(dataDir)).includes(BALLAST)) await this.#writeBallast(ballastBytes)
  }

  async #writeBallast(bytes: number): Promise<void> {
    const { files, dataDir } = this.#options
    const path = join(dataDir, BALLAST)
    try {
      const file = await files.create(path)
      try {
        // Of chance, or a file system that compresses would keep no room.
        const piece = randomFillSync(Buffer.alloc(PIECE))
        for (let left = bytes; left > 0 && !this.#stopped; left -= PIECE) {
          await file.write(piece.subarray(0, Math.min(left, PIECE)))
        }
        await file.datasync()
      } finally {
        await file.close()
      }
    } catch (error) {
      await files.unlink(path).catch(() => undefined)
      throw error
    }
  }

  /** Removes the ballast. Returns whether there was one. */
  giveUpBallast(): Promise<boolean> {
    const { files, dataDir, hasBallast } = this.#options
    return hasBallast ? giveUpBallast(files, dataDir) : Promise.resolve(false)
  }
}

/** Removes the ballast of a data directory. Returns whether there was one. */
export async function giveUpBallast(files: FileSystem, dataDir: string): Promise<boolean> {
  try {
    await files.unlink(join(dataDir, BALLAST))
    return true
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return false
    throw error
  }
}
