import type { ListenOptions } from '../domain/emitter.ts'
import type { EngineEvents } from './pin-types.ts'

/** Events of an engine. If a listener throws, the engine logs the error and continues. */
export interface Events {
  /**
   * Calls the listener for each event of this name, until the signal aborts. Returns a function that removes the
   * listener.
   * @example const off = engine.events.on('pin:created', ({ record }) => console.log(record.cid))
   */
  on<Name extends keyof EngineEvents>(
    name: Name,
    listener: (event: EngineEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void
  /**
   * Returns the next event of this name.
   *
   * @throws HoldfastError `ABORTED` if the signal aborts first, `UNAVAILABLE` if the engine stops first
   * @example const { record } = await engine.events.once('pin:status', { signal: AbortSignal.timeout(60_000) })
   */
  once<Name extends keyof EngineEvents>(name: Name, options?: ListenOptions): Promise<EngineEvents[Name]>
}
