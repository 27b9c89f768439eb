import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  name: string
  /**
   * The account or client address to which the work is charged. Null for work of the node, which is charged to `name`.
   */
  owner: string | null
}

const storage = new AsyncLocalStorage<Work>()

/** Runs work under a name, which its asynchronous work inherits. Logs show which work holds the event loop. */
export function underName<T>(name: string, work: () => T): T {
  return storage.run({ name, owner: null }, work)
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

/** Returns the name of the current work. */
export function currentWork(): string | null {
  return storage.getStore()?.name ?? null
}

/** All work without a name shares one owner. */
export function currentOwner(): string {
  const work = storage.getStore()
  return work?.owner ?? work?.name ?? ''
}
