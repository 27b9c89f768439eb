import { EventEmitter } from 'node:events'
import type { Logger } from './logger.ts'

/** Typed events whose listeners cannot break the engine: what one throws is logged and the rest still hear. */
export class Emitter<Events extends { [K in keyof Events]: object }> {
  readonly #emitter = new EventEmitter()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
    this.#emitter.setMaxListeners(0)
  }

  /** Listens from now on. Returns a function that stops listening. */
  on<Name extends keyof Events & string>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const guarded = (event: Events[Name]): void => {
      try {
        listener(event)
      } catch (error) {
        this.#logger.error({ err: error, event: name }, 'an event listener threw')
      }
    }
    this.#emitter.on(name, guarded)
    return () => this.#emitter.off(name, guarded)
  }

  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void {
    this.#emitter.emit(name, event)
  }
}
