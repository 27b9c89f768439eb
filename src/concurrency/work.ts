import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  name: string
  /** The account or client address that pays for it; null for the node's own work, which pays under its name. */
  owner: string | null
}

const storage = new AsyncLocalStorage<Work>()

/**
 * Runs work under a name, so that logs can say who holds the event loop. Asynchronous work that it starts inherits the
 * name.
 */
export function underName<T>(name: string, work: () => T): T {
  return storage.run({ name, owner: null }, work)
}

/** Renames the current work, if it has a name. */
export function renameWork(name: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.name = name
}

/** Charges the turns of the current work to an owner, if the work has a name. */
export function chargeWork(owner: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.owner = owner
}

/** Returns the name of the current work; null for work without one. */
export function currentWork(): string | null {
  return storage.getStore()?.name ?? null
}

/** Returns who pays for the turns of the current work. Unnamed work shares one owner. */
export function currentOwner(): string {
  const work = storage.getStore()
  return work?.owner ?? work?.name ?? ''
}
