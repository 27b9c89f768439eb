import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  name: string
  /**
   * The account or client address to which the work is charged. Null for work of the node, which is charged to `name`.
   */
  owner: string | null
  /** Identity of the traced request to which the work belongs. */
  request?: object | undefined
}

const storage = new AsyncLocalStorage<Work>()

/**
 * Runs work under a name, which its asynchronous work inherits. Logs show which work holds the event loop.
 *
 * @param request identity of the traced request to which the work belongs
 * @example await underName('nightly report', () => engine.stats())
 */
export function underName<T>(name: string, work: () => T, request?: object): T {
  return storage.run({ name, owner: null, request }, work)
}

/** Does nothing if the work has no name. */
export function renameWork(name: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.name = name
}

export function chargeWork(owner: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.owner = owner
}

/**
 * Returns the name of the current work.
 *
 * @example logger.info({ work: currentWork() }, 'called')
 */
export function currentWork(): string | null {
  return storage.getStore()?.name ?? null
}

/** Returns the owner whose share the current work uses. All work without a name shares one owner. */
export function currentOwner(): string {
  const work = storage.getStore()
  return work?.owner ?? work?.name ?? ''
}

/** Gives the current request an identity, which its work inherits. */
export function identifyRequest(): object {
  const request = {}
  const work = storage.getStore()
  if (work !== undefined) work.request = request
  return request
}

/** Returns the identity of the request to which the current work belongs. */
export function currentRequest(): object | undefined {
  return storage.getStore()?.request
}
