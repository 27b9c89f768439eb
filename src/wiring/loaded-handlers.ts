import type { ApiHandler } from '../http/api-messages.ts'

interface Loading {
  load(): Promise<unknown>
}

const loads = new WeakMap<ApiHandler, Loading>()

/** Returns the handler, and notes what it needs. */
export function loadedBy(needed: Loading, handler: ApiHandler): ApiHandler {
  loads.set(handler, needed)
  return handler
}

/**
 * Loads what handlers of an engine need, so that no request waits for it. Other handlers need nothing.
 * @throws HoldfastError `UNAVAILABLE` if the node is stopping
 */
export async function loadHandlers(...handlers: readonly ApiHandler[]): Promise<void> {
  await Promise.all(handlers.map(handler => loads.get(handler)?.load()))
}

/** Begins to load what handlers need. If this fails, the first request tries again. */
export function beginToLoad(...handlers: readonly ApiHandler[]): void {
  void loadHandlers(...handlers).catch(() => undefined)
}
