// tsyringe needs this polyfill before it loads.
import 'reflect-metadata/lite'
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe'
import { HoldfastError } from '../domain/errors.ts'

/** Key of a module. It carries the module's type. */
export type Token<T> = InjectionToken<T> & { readonly type?: T }

export function token<T>(name: string): Token<T> {
  return Symbol(name) as unknown as Token<T>
}

/** Start and stop of a module. `stop` is safe even if the module has not started. */
export interface Lifecycle {
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** Access to other modules while one is being made. */
export type KnownModules = Pick<Modules, 'get'>

/** Modules of one engine. Each is made once, on first use, by its factory. */
export class Modules {
  readonly #container: DependencyContainer = container.createChildContainer()
  readonly #making: string[] = []
  readonly #started: Lifecycle[] = []

  /** @param make may get other modules only until it returns, so that cycles are found at the start */
  provide<T>(token: Token<T>, make: (modules: KnownModules) => T): void {
    this.#container.register(token, { useFactory: instanceCachingFactory(() => this.#make(token, make)) })
  }

  get<T>(token: Token<T>): T {
    return this.#container.resolve(token)
  }

  /** Starts the modules one after the other. */
  async start(order: ReadonlyArray<Token<Lifecycle>>): Promise<void> {
    for (const token of order) {
      const module = this.get(token)
      this.#started.push(module)
      await module.start?.()
    }
  }

  /**
   * Stops the started modules in reverse order, including one whose start failed. Stops all of them, then throws the
   * first error.
   */
  async stop(): Promise<void> {
    const failures: unknown[] = []
    for (const module of this.#started.splice(0).reverse()) {
      try {
        await module.stop?.()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  #make<T>(token: Token<T>, make: (modules: KnownModules) => T): T {
    const name = String(token)
    if (this.#making.includes(name)) {
      throw new HoldfastError('INTERNAL_ERROR', `modules need each other: ${[...this.#making, name].join(' > ')}`)
    }
    this.#making.push(name)
    let isMade = false
    const get = <U>(other: Token<U>): U => {
      if (isMade) throw new HoldfastError('INTERNAL_ERROR', `${name} requests ${String(other)} after it was made`)
      return this.get(other)
    }
    try {
      return make({ get })
    } finally {
      isMade = true
      this.#making.pop()
    }
  }
}
