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
const PIECE = 1024 ** 2
/** While there is enough space, a reading of the free space stays valid for this time in ms. */
const FRESH_MS = 1_000
const LOOK_EVERY_MS = 10_000
/** Longest time that new content waits for room. */
const ROOM_MS = 10_000

/**
 * Returns the bytes that new content leaves free by default: 64 MiB or 5 % of the file system, whichever is less.
 *
 * @example const reserveBytes = 2 * defaultReserve(10 ** 12)
 */
export function defaultReserve(totalBytes: number): number {
  return Math.min(LARGEST_RESERVE, Math.floor(totalBytes * RESERVE_SHARE))
}

export interface DiskReserveOptions {
  dataDir: string
  files: FileSystem
  clock: Clock
  /** Bytes that new content must leave free. Default: {@link defaultReserve}. */
  reserveBytes?: number | undefined
  watch: Pick<StoreWatch, 'look' | 'problem'>
  /**
   * True to create a ballast file. The node deletes the file if the disk is so full that not even a deletion can
   * commit.
   */
  hasBallast: boolean
}

export interface DiskState {
  freeBytes: number
  reserveBytes: number
  /** True if the node would reject new content of the size of a chunk. */
  isFull: boolean
}

/**
 * Reserves disk space for deletions, by rejecting new content that would use it. If other programs fill the disk, the
 * node deletes a ballast file so that a deletion can commit. The node rewrites the file once there is space.
 */
export class DiskReserve {
  readonly #options: DiskReserveOptions
  #state: DiskState | null = null
  #seenAt = 0
  /** Bytes of new content that may be admitted before the free space is read again. */
  #left = 0
  #looking: Promise<DiskState> | null = null
  #cancelTimer: (() => void) | null = null
  #maintaining: Promise<void> | null = null
  #stopped = false
  #makeRoom: ((hasRoom: () => Promise<boolean>) => Promise<void>) | null = null
  #making: Promise<void> | null = null
  /** Bytes of new content that waits for room. */
  #waiting = 0
  /** Time at which an attempt to make room last ended without room. */
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(options: DiskReserveOptions) {
    this.#options = options
  }

  /** Null before the first reading. */
  get state(): DiskState | null {
    return this.#state
  }

  /** Sets what frees space for new content that would be refused. `makeRoom` ends early once there is room. */
  whenFull(makeRoom: (hasRoom: () => Promise<boolean>) => Promise<void>): void {
    this.#makeRoom = makeRoom
  }

  /** Reads the free space at intervals, and maintains the ballast file. */
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
   * Admits `bytes` of new content. Returns null if the last reading is recent enough, or else a promise to await.
   *
   * @throws HoldfastError `STORAGE_FULL` if less than the reserve would stay free; `UNAVAILABLE` if blocks cannot be
   * stored
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
    // During a problem, check once a second, so that the node admits content soon after the problem ends.
    if (watch.problem !== null && clock.now() - this.#seenAt >= FRESH_MS) await watch.look()
    let { freeBytes, reserveBytes } = await this.look()
    if (watch.problem === null && freeBytes - bytes < reserveBytes && (await this.#waitForRoom(bytes))) {
      await this.#looking
      ;({ freeBytes, reserveBytes } = await this.look())
    }
    if (watch.problem !== null) throw new HoldfastError('UNAVAILABLE', 'the node cannot keep new content at the moment')
    if (freeBytes - bytes < reserveBytes) {
      throw new HoldfastError('STORAGE_FULL', 'the node has no space left for new content')
    }
    this.#left = Math.max(0, this.#left - bytes)
  }

  /** Waits until space is freed, at most for a while. Returns false if nothing can be freed at the moment. */
  async #waitForRoom(bytes: number): Promise<boolean> {
    const { clock } = this.#options
    const make = this.#makeRoom
    if (make === null || this.#stopped || clock.now() - this.#failedAt < FRESH_MS) return false
    this.#waiting += bytes
    const hasRoom = async (): Promise<boolean> => {
      const { freeBytes, reserveBytes } = await this.look()
      return this.#stopped || freeBytes - this.#waiting >= reserveBytes
    }
    this.#making ??= underName('disk reserve', () => make(hasRoom))
      .catch(() => undefined)
      .then(async () => {
        if (!(await hasRoom())) this.#failedAt = clock.now()
      })
      .finally(() => {
        this.#making = null
      })
    const late = Promise.withResolvers<void>()
    const cancel = clock.after(ROOM_MS, late.resolve)
    try {
      await Promise.race([this.#making, late.promise])
    } finally {
      cancel()
      this.#waiting -= bytes
    }
    return true
  }

  /** Reads the free space now. Concurrent calls share one reading. */
  look(): Promise<DiskState> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<DiskState> {
    const { files, dataDir, clock } = this.#options
    // If the file system does not report its free space, the disk does not count as full.
    const unknown: DiskSpace = { freeBytes: Number.MAX_SAFE_INTEGER, totalBytes: 0 }
    const { freeBytes, totalBytes } = await files.space(dataDir).catch(() => unknown)
    const reserveBytes = this.#options.reserveBytes ?? defaultReserve(totalBytes)
    const state = { freeBytes, reserveBytes, isFull: freeBytes - PIECE < reserveBytes }
    this.#state = state
    this.#seenAt = clock.now()
    // Admitted bytes may not be on the disk yet at the next reading, so admit only half of the space above the reserve.
    this.#left = Math.max(0, Math.floor((freeBytes - reserveBytes) / 2))
    return state
  }

  /** Reads the free space. If the ballast file is missing and there is enough space, writes the ballast file. */
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
        // Random bytes, because a compressing file system would not reserve space for repetitive ones.
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

  giveUpBallast(): Promise<boolean> {
    const { files, dataDir, hasBallast } = this.#options
    return hasBallast ? giveUpBallast(files, dataDir) : Promise.resolve(false)
  }
}

/** Returns whether the ballast file existed. */
export async function giveUpBallast(files: FileSystem, dataDir: string): Promise<boolean> {
  try {
    await files.unlink(join(dataDir, BALLAST))
    return true
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return false
    throw error
  }
}
