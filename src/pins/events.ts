import type { ListenOptions } from '../domain/emitter.ts'
import type { EngineEvents } from './pin-types.ts'

/** Events of an engine. An error thrown by a listener is logged and has no other effect. */
export interface Events {
  /** Listens until the signal aborts. Returns a function that stops listening. */
  on<Name extends keyof EngineEvents>(
    name: Name,
    listener: (event: EngineEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void
  /**
   * Resolves with the next event of that name.
   *
   * @throws HoldfastError `ABORTED` if the signal aborts first, `UNAVAILABLE` if the engine stops first
   */
  once<Name extends keyof EngineEvents>(name: Name, options?: ListenOptions): Promise<EngineEvents[Name]>
}
