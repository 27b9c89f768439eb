// tsyringe requires this polyfill to be imported first.
import 'reflect-metadata/lite'
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe'
import { type Settling, unsettled } from '../concurrency/woken-work.ts'
import { HoldfastError } from '../domain/errors.ts'

export type Token<T> = InjectionToken<T> & { readonly type?: T }

export function token<T>(name: string): Token<T> {
  return Symbol(name) as unknown as Token<T>
}

/** It is safe to call `stop` on a module that has not started. */
export interface Lifecycle extends Partial<Settling> {
  start?(): Promise<void>
  stop?(): Promise<void>
}

export type KnownModules = Pick<Modules, 'get'>

/** Modules of one engine. A factory creates each module once, on first use. */
export class Modules {
  readonly #container: DependencyContainer = container.createChildContainer()
  readonly #making: string[] = []
  readonly #started: Lifecycle[] = []

  /**
   * @param make factory, which may get other modules only until it returns. Cycles are therefore found at the start.
   */
  provide<T>(token: Token<T>, make: (modules: KnownModules) => T): void {
    this.#container.register(token, { useFactory: instanceCachingFactory(() => this.#make(token, make)) })
  }

  get<T>(token: Token<T>): T {
    return this.#container.resolve(token)
  }

  async start(order: ReadonlyArray<Token<Lifecycle>>): Promise<void> {
    for (const token of order) {
      const module = this.get(token)
      this.#started.push(module)
      await module.start?.()
    }
  }

  /**
   * Stops the started modules in reverse order, including a module whose start failed. After all stops, throws the
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

  /** Returns the names of the work of started modules that runs or is due. */
  unsettled(): Promise<string[]> {
    return unsettled(this.#started)
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
