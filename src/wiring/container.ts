// tsyringe refuses to load without the metadata calls that this brings, so it comes first.
import 'reflect-metadata/lite'
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe'
import { HoldfastError } from '../domain/errors.ts'

/** The name of a module, which knows the module's type. */
export type Token<T> = InjectionToken<T> & { readonly type?: T }

export function token<T>(name: string): Token<T> {
  return Symbol(name) as unknown as Token<T>
}

/** What a module begins by itself, and how that ends. Stopping is safe whether or not it has started. */
export interface Lifecycle {
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** Modules that another one may be made of. */
export type KnownModules = Pick<Modules, 'get'>

/** The modules of one engine. Each is made once, when it is first asked for, by the function given for it. */
export class Modules {
  readonly #container: DependencyContainer = container.createChildContainer()
  readonly #making: string[] = []
  readonly #started: Lifecycle[] = []

  /** @param make may ask for other modules until it returns: nothing is fetched later, so that no module needs itself */
  provide<T>(token: Token<T>, make: (modules: KnownModules) => T): void {
    this.#container.register(token, { useFactory: instanceCachingFactory(() => this.#make(token, make)) })
  }

  get<T>(token: Token<T>): T {
    return this.#container.resolve(token)
  }

  /** Starts modules one after the other. */
  async start(order: ReadonlyArray<Token<Lifecycle>>): Promise<void> {
    for (const token of order) {
      const module = this.get(token)
      this.#started.push(module)
      await module.start?.()
    }
  }

  /** Stops in the opposite order what has been started, or was about to; all of it, then throws what failed first. */
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
      if (isMade) throw new HoldfastError('INTERNAL_ERROR', `${name} asks for ${String(other)} after it was made`)
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
