import type { ListenOptions } from '../domain/emitter.ts'
import type { EngineEvents } from './pin-types.ts'

/** What an engine tells as it happens. Listeners only hear: what one throws is logged, and changes nothing. */
export interface Events {
  /** Listens from now on, until the signal aborts. Returns a function that stops listening. */
  on<Name extends keyof EngineEvents>(
    name: Name,
    listener: (event: EngineEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void
  /**
   * The next event of that name.
   *
   * @throws HoldfastError `ABORTED` if the signal aborts first, `UNAVAILABLE` if the engine stops before.
   */
  once<Name extends keyof EngineEvents>(name: Name, options?: ListenOptions): Promise<EngineEvents[Name]>
}
