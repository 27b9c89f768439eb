import { resolve } from 'node:path'
import type { Activity } from '../concurrency/activity.ts'
import { type Tracing, traced } from '../concurrency/traced.ts'
import { isInside } from '../content/server-directory.ts'
import { realPathOf } from '../disk/real-path.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { FinishedWork } from '../domain/metrics.ts'
import { type BackupOptions, type BackupOutcome, type BackupSource, backUp } from './back-up.ts'
import { newestBackup } from './newest-backup.ts'

const NEWEST_MS = 60_000

export interface BackupState {
  /** False if the node knows no directory of backups. */
  hasRoots: boolean
  running: { blocks: number; bytes: number } | null
  /** In ms since the epoch. Null if there is none. */
  newestAt: number | null
}

/** Runs the backups of one engine, one at a time. */
export class Backups {
  readonly #source: BackupSource
  readonly #activity: Activity
  /** Directories below which HTTP requests may create backups. */
  readonly #roots: readonly string[]
  readonly #bytesPerSecond: number
  readonly #tracing: Tracing
  #running: { blocks: number; bytes: number } | null = null
  /** The newest backup below the roots, as last read. */
  #known: Pick<BackupState, 'newestAt'> | null = null
  /** The last reading of the roots, repeated after a while. */
  #look: { ended: Promise<void>; until: number } | null = null

  constructor(
    source: BackupSource,
    activity: Activity,
    metrics: Tracing['metrics'],
    { backupRoots, backupBytesPerSecond }: { backupRoots: readonly string[]; backupBytesPerSecond: number },
  ) {
    this.#source = source
    this.#activity = activity
    this.#roots = backupRoots.map(root => resolve(root))
    this.#bytesPerSecond = backupBytesPerSecond
    this.#tracing = { clock: source.clock, metrics }
  }

  /** @throws HoldfastError `CONFLICT` while another backup is running; the errors of {@link backUp} */
  run(directory: string, options: BackupOptions = {}): Promise<BackupOutcome> {
    if (this.#running !== null) throw new HoldfastError('CONFLICT', 'another backup is running')
    this.#running = { blocks: 0, bytes: 0 }
    const { bytesPerSecond = this.#bytesPerSecond } = options
    const onProgress: BackupOptions['onProgress'] = progress => {
      this.#running = progress
      options.onProgress?.(progress)
    }
    const backup = (): Promise<BackupOutcome> =>
      this.#activity.run(options.signal, signal =>
        backUp(this.#source, directory, { ...options, bytesPerSecond, onProgress, signal }),
      )
    return traced('backup', this.#tracing, backup, factsOf).finally(() => {
      this.#running = null
      this.#look = null
    })
  }

  /** Returns the progress of the running backup, and the time of the newest one below `backupRoots`, up to a minute old. */
  async state(): Promise<BackupState> {
    await this.#lookAgain()
    return { hasRoots: this.#roots.length > 0, running: this.#running, newestAt: this.#known?.newestAt ?? null }
  }

  /** Returns the newest backup as last read, so that a slow disk holds up nothing. Null before that, or without roots. */
  newest(): Pick<BackupState, 'newestAt'> | null {
    if (this.#roots.length > 0) void this.#lookAgain()
    return this.#roots.length > 0 ? this.#known : null
  }

  #lookAgain(): Promise<void> {
    if (this.#look !== null && this.#source.clock.now() < this.#look.until) return this.#look.ended
    // A disk that hangs is read by one look at a time.
    const look = { ended: Promise.resolve(), until: Number.POSITIVE_INFINITY }
    look.ended = newestBackup(this.#roots).then(newestAt => {
      this.#known = { newestAt }
      look.until = this.#source.clock.now() + NEWEST_MS
    })
    this.#look = look
    return look.ended
  }

  /**
   * Runs a backup into a directory that an HTTP request names.
   *
   * @throws HoldfastError `NOT_OFFERED` if the directory is not below any directory of the option `backupRoots`
   */
  async runBelowRoots(directory: string, options: BackupOptions = {}): Promise<BackupOutcome> {
    const path = await realPathOf(resolve(directory))
    const roots = await Promise.all(this.#roots.map(realPathOf))
    if (!roots.some(root => path !== root && isInside(root, path))) {
      throw new HoldfastError(
        'NOT_OFFERED',
        `directory: a backup over HTTP must be below a directory of the option backupRoots`,
      )
    }
    return this.run(path, options)
  }
}

function factsOf(outcome: BackupOutcome | undefined): FinishedWork['facts'] {
  if (outcome === undefined) return {}
  const { blocks, newBlocks, bytes, databaseBytes } = outcome
  return { blocks, new_blocks: newBlocks, bytes, database_bytes: databaseBytes }
}
