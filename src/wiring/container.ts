// tsyringe refuses to load without the metadata calls that this brings, so it comes first.
import 'reflect-metadata/lite'
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe'
import { HoldfastError } from '../domain/errors.ts'

/** The name of a part, which knows the part's type. */
export type Token<T> = InjectionToken<T> & { readonly type?: T }

export function token<T>(name: string): Token<T> {
  return Symbol(name) as unknown as Token<T>
}

/** The parts of one engine. Every part is made once, when it is first asked for, by the factory given for it. */
export class Parts {
  readonly #container: DependencyContainer = container.createChildContainer()
  readonly #making: string[] = []

  /** Adds a part that exists already. */
  add<T>(token: Token<T>, part: T): void {
    this.#container.registerInstance(token, part)
  }

  /** Adds a part by how to make it. */
  provide<T>(token: Token<T>, make: (parts: Parts) => T): void {
    this.#container.register(token, { useFactory: instanceCachingFactory(() => this.#make(token, make)) })
  }

  get<T>(token: Token<T>): T {
    return this.#container.resolve(token)
  }

  #make<T>(token: Token<T>, make: (parts: Parts) => T): T {
    const name = String(token)
    if (this.#making.includes(name)) {
      throw new HoldfastError('INTERNAL_ERROR', `parts need each other: ${[...this.#making, name].join(' > ')}`)
    }
    this.#making.push(name)
    try {
      return make(this)
    } finally {
      this.#making.pop()
    }
  }
}
