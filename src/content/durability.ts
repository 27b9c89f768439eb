import { Semaphore } from '../domain/concurrency/semaphore.ts'
import type { FileSystem } from '../domain/file-system.ts'
import type { Ledger } from '../ledger/ledger.ts'

interface Renamed {
  blockId: number
  dir: string
  resolve: () => void
  reject: (error: unknown) => void
}

/** Without anyone asking, blocks become durable in groups of this many. */
const GROUP = 256
/** Directory syncs at a time: enough for the file system to merge them, few enough to leave threads for writes. */
const SYNCS_AT_ONCE = 4

/**
 * The last step of a block written to a file: its directory is synced, then the ledger says `durable`. Both are
 * shared by all blocks that are waiting, and done when somebody needs it done or many are waiting.
 */
export class Durability {
  readonly #ledger: Ledger
  readonly #files: Pick<FileSystem, 'syncDirectory'>
  #waiting: Renamed[] = []
  #flushing: Promise<void> | null = null

  constructor(ledger: Ledger, files: Pick<FileSystem, 'syncDirectory'>) {
    this.#ledger = ledger
    this.#files = files
  }

  /** Resolves when the block under `dir` is durable, which may need a {@link flush}. */
  add(blockId: number, dir: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ blockId, dir, resolve, reject })
      if (this.#waiting.length >= GROUP) void this.flush()
    })
  }

  /** Makes durable all that has been added so far. Never throws: each block's own promise tells. */
  async flush(): Promise<void> {
    // A flush under way may have started before the newest block was added; it is followed by another.
    while (this.#flushing !== null) await this.#flushing
    if (this.#waiting.length === 0) return
    this.#flushing = this.#flushGroup(this.#waiting.splice(0)).finally(() => {
      this.#flushing = null
    })
    await this.#flushing
  }

  async #flushGroup(group: Renamed[]): Promise<void> {
    try {
      await syncDirectories(this.#files, new Set(group.map(block => block.dir)))
      for (let start = 0; start < group.length; start += GROUP) {
        await this.#ledger.markDurable(group.slice(start, start + GROUP).map(block => block.blockId))
      }
      for (const block of group) block.resolve()
    } catch (error) {
      for (const block of group) block.reject(error)
    }
  }
}

/** Syncs directories, a few at a time. */
export async function syncDirectories(
  files: Pick<FileSystem, 'syncDirectory'>,
  dirs: ReadonlySet<string>,
): Promise<void> {
  const syncs = new Semaphore(SYNCS_AT_ONCE)
  await Promise.all([...dirs].map(dir => syncs.hold(1, () => files.syncDirectory(dir))))
}
