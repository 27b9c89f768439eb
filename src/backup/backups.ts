import { resolve } from 'node:path'
import type { Activity } from '../concurrency/activity.ts'
import { isInside } from '../content/server-directory.ts'
import { realPathOf } from '../disk/real-path.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type BackupOptions, type BackupOutcome, type BackupSource, backUp } from './back-up.ts'

/** Makes backups of one engine, one at a time. */
export class Backups {
  readonly #source: BackupSource
  readonly #activity: Activity
  /** Where backups may go that are asked for from elsewhere; absolute. */
  readonly #roots: readonly string[]
  readonly #bytesPerSecond: number
  #running = false

  constructor(
    source: BackupSource,
    activity: Activity,
    { backupRoots, backupBytesPerSecond }: { backupRoots: readonly string[]; backupBytesPerSecond: number },
  ) {
    this.#source = source
    this.#activity = activity
    this.#roots = backupRoots.map(root => resolve(root))
    this.#bytesPerSecond = backupBytesPerSecond
  }

  /** @throws HoldfastError `CONFLICT` while another is being made; what {@link backUp} throws */
  run(directory: string, options: BackupOptions = {}): Promise<BackupOutcome> {
    if (this.#running) throw new HoldfastError('CONFLICT', 'a backup is being made already')
    this.#running = true
    const { bytesPerSecond = this.#bytesPerSecond } = options
    return this.#activity
      .run(options.signal, signal => backUp(this.#source, directory, { ...options, bytesPerSecond, signal }))
      .finally(() => {
        this.#running = false
      })
  }

  /**
   * As {@link run}, for a directory that somebody outside this machine names.
   *
   * @throws HoldfastError `NOT_OFFERED` unless it lies below one of the configured roots
   */
  async runBelowRoots(directory: string, options: BackupOptions = {}): Promise<BackupOutcome> {
    const path = await realPathOf(resolve(directory))
    const roots = await Promise.all(this.#roots.map(realPathOf))
    if (!roots.some(root => path !== root && isInside(root, path))) {
      throw new HoldfastError('NOT_OFFERED', `backups over HTTP go below the directories of the option backupRoots`)
    }
    return this.run(path, options)
  }
}
