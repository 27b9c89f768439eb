import { type FileHandle, open } from 'node:fs/promises'

/** Syncs a file off the main thread while somebody else writes it. */
export class BackgroundSyncs {
  readonly #file: FileHandle
  #running: Promise<void> | null = null
  #error: unknown = null

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(path: string): Promise<BackgroundSyncs> {
    return new BackgroundSyncs(await open(path, 'r'))
  }

  /** Starts a sync, unless one is running. */
  start(): void {
    this.#running ??= this.#file
      .sync()
      .catch((error: unknown) => {
        this.#error ??= error
      })
      .finally(() => {
        this.#running = null
      })
  }

  /** Syncs all that has been written, and closes the file. @throws the error of any sync since the start */
  async end(): Promise<void> {
    try {
      await this.#running
      this.start()
      await this.#running
    } finally {
      await this.#file.close()
    }
    if (this.#error !== null) throw this.#error
  }
}
