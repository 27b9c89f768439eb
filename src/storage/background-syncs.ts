import { type FileHandle, open } from 'node:fs/promises'

/** Syncs a file in libuv's thread pool while other code writes the file. */
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

  /**
   * Syncs all writes and closes the file.
   *
   * @throws the first error of any sync since {@link open}
   */
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
