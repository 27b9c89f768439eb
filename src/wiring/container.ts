// tsyringe requires this polyfill to be imported first.
import 'reflect-metadata/lite'
import { container, type DependencyContainer, instanceCachingFactory } from 'tsyringe'
import { type Settling, unsettled } from '../concurrency/woken-work.ts'
import { HoldfastError } from '../domain/errors.ts'

/** It is safe to call `stop` on a module that has not started. */
export interface Lifecycle extends Partial<Settling> {
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** Modules of one engine by name. Each is created once, on first use. */
export class Modules<All extends object> {
  readonly #container: DependencyContainer = container.createChildContainer()
  readonly #names: string[] = []
  readonly #started: Lifecycle[] = []

  /**
   * Adds a module, which starts after all that were added before it.
   *
   * @param needs modules that `make` gets. They must have been added before, so no two modules need each other.
   */
  add<Name extends keyof All & string, Need extends keyof All & string>(
    name: Name,
    needs: readonly Need[],
    make: (made: Pick<All, Need>) => All[Name],
  ): void {
    const later = needs.find(need => !this.#names.includes(need))
    if (later !== undefined) throw new HoldfastError('INTERNAL_ERROR', `${name} needs ${later}, which is added later`)
    this.#names.push(name)
    this.#container.register(name, { useFactory: instanceCachingFactory(() => make(this.made(...needs))) })
  }

  /** Returns the named modules. Creates those that do not exist yet. */
  made<Name extends keyof All & string>(...names: readonly Name[]): Pick<All, Name> {
    return Object.fromEntries(names.map(name => [name, this.#container.resolve(name)])) as Pick<All, Name>
  }

  async start(): Promise<void> {
    for (const name of this.#names) {
      const module = this.#container.resolve<Lifecycle>(name)
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
}
