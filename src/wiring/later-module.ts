import { HoldfastError } from '../domain/errors.ts'
import type { Lifecycle } from './container.ts'

/** A module that is loaded and started when something first uses it, or with the engine if the engine needs it. */
export class LaterModule<T extends Lifecycle> implements Lifecycle {
  readonly #make: () => Promise<T>
  readonly #isNeeded: () => boolean
  #making: Promise<T> | null = null
  #made: T | null = null
  #isStopped = false

  /**
   * @param make loads the module's files and creates the module
   * @param isNeeded returns whether the module starts with the engine
   */
  constructor(make: () => Promise<T>, isNeeded: () => boolean = () => false) {
    this.#make = make
    this.#isNeeded = isNeeded
  }

  /** The module, or null until it has started. */
  get made(): T | null {
    return this.#made
  }

  /**
   * Returns the started module. After a failure, the next call tries again.
   * @throws HoldfastError `UNAVAILABLE` if the node is stopping
   */
  load(): Promise<T> {
    this.#making ??= this.#start().catch((error: unknown) => {
      this.#making = null
      throw error
    })
    return this.#making
  }

  async start(): Promise<void> {
    if (this.#isNeeded()) await this.load()
  }

  async unsettled(): Promise<string[]> {
    return (await this.#made?.unsettled?.()) ?? []
  }

  /** Waits for a load in progress, then stops the module. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#making?.catch(() => undefined)
    await this.#made?.stop?.()
  }

  async #start(): Promise<T> {
    const made = this.#isStopped ? null : await this.#make()
    // Other modules may have stopped during the load.
    if (made === null || this.#isStopped) throw new HoldfastError('UNAVAILABLE', 'the node is stopping')
    this.#made = made
    await made.start?.()
    return made
  }
}
