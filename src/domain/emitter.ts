import { EventEmitter } from 'node:events'
import { HoldfastError } from './errors.ts'
import type { Logger } from './logger.ts'

/** Options for adding a listener. */
export interface ListenOptions {
  signal?: AbortSignal | undefined
}

/** If a listener throws or rejects, logs the error, and the other listeners still run. */
export class Emitter<Events extends { [K in keyof Events]: object }> {
  readonly #emitter = new EventEmitter()
  readonly #logger: Logger
  readonly #closing = new AbortController()

  constructor(logger: Logger) {
    this.#logger = logger
    this.#emitter.setMaxListeners(0)
  }

  #guard(name: string, call: () => unknown): void {
    const log = (error: unknown): void => this.#logger.error({ err: error, event: name }, 'an event listener threw')
    try {
      // Without this, a rejection of an async listener would end the process.
      const outcome = call()
      if (outcome instanceof Promise) outcome.catch(log)
    } catch (error) {
      log(error)
    }
  }

  /** Adds a listener until the signal aborts. Returns a function that removes the listener. */
  on<Name extends keyof Events & string>(
    name: Name,
    listener: (event: Events[Name]) => void,
    { signal }: ListenOptions = {},
  ): () => void {
    if (signal?.aborted === true) return () => undefined
    const guarded = (event: Events[Name]): void => this.#guard(name, () => listener(event))
    const off = (): void => {
      this.#emitter.off(name, guarded)
      signal?.removeEventListener('abort', off)
    }
    this.#emitter.on(name, guarded)
    signal?.addEventListener('abort', off, { once: true })
    return off
  }

  /** @throws HoldfastError `ABORTED` if the signal aborts first; `UNAVAILABLE` if the emitter is closed */
  async once<Name extends keyof Events & string>(name: Name, { signal }: ListenOptions = {}): Promise<Events[Name]> {
    const next = Promise.withResolvers<Events[Name]>()
    const abort = (): void =>
      next.reject(
        new HoldfastError('ABORTED', `waiting for ${name} was ended by its signal`, { cause: signal?.reason }),
      )
    const close = (): void =>
      next.reject(new HoldfastError('UNAVAILABLE', `there is no more ${name}: the node has stopped`))
    const closing = this.#closing.signal
    const off = this.on(name, next.resolve)
    signal?.addEventListener('abort', abort, { once: true })
    closing.addEventListener('abort', close, { once: true })
    if (signal?.aborted === true) abort()
    else if (closing.aborted) close()
    try {
      return await next.promise
    } finally {
      off()
      signal?.removeEventListener('abort', abort)
      closing.removeEventListener('abort', close)
    }
  }

  /** Rejects all waiting calls of {@link once}, because no more events follow. */
  close(): void {
    this.#closing.abort()
  }

  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void {
    this.#emitter.emit(name, event)
  }
}
