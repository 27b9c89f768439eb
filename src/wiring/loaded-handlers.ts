import type { ApiHandler } from '../http/api-messages.ts'

interface Loading {
  load(): Promise<unknown>
}

const loads = new WeakMap<ApiHandler, Loading>()
const ownersApis = new WeakMap<ApiHandler, ApiHandler>()

/** Notes the handler that serves the API of an engine to the owner in this process. */
export function withOwnersApi(api: ApiHandler, forOwner: ApiHandler): ApiHandler {
  ownersApis.set(api, forOwner)
  return api
}

/**
 * Returns a handler of the API that treats every request as one of the owner, without limits and audit. It is for the
 * program that opened the data directory. Never serve it on a network.
 */
export function ownersApi(api: ApiHandler): ApiHandler {
  const found = ownersApis.get(api)
  if (found === undefined) throw new TypeError('the handler is no API of an engine')
  return found
}

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
