import { realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isInside } from '../content/server-directory.ts'
import type { Activity } from '../domain/activity.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type BackupOptions, type BackupOutcome, type BackupSource, backUp } from './back-up.ts'

/** Makes backups of one engine, one at a time. */
export class Backups {
  readonly #source: BackupSource
  readonly #activity: Activity
  /** Where backups may go that are asked for from elsewhere; absolute. */
  readonly #roots: readonly string[]
  #running = false

  constructor(source: BackupSource, activity: Activity, roots: readonly string[]) {
    this.#source = source
    this.#activity = activity
    this.#roots = roots.map(root => resolve(root))
  }

  /** @throws HoldfastError `CONFLICT` while another is being made; what {@link backUp} throws */
  run(directory: string, options: BackupOptions = {}): Promise<BackupOutcome> {
    if (this.#running) throw new HoldfastError('CONFLICT', 'a backup is being made already')
    this.#running = true
    return this.#activity
      .run(options.signal, signal => backUp(this.#source, directory, { ...options, signal }))
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

/** Of what is there already; the rest as it is written. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realPathOf(parent), path.slice(parent.length))
  }
}
