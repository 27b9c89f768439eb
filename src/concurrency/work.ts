import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<{ name: string }>()

/**
 * Runs work under a name, so that logs can say who holds the event loop. Asynchronous work that it starts inherits the
 * name.
 */
export function underName<T>(name: string, work: () => T): T {
  return storage.run({ name }, work)
}

/** Renames the current work, if it has a name. */
export function renameWork(name: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.name = name
}

/** Returns the name of the current work; null for work without one. */
export function currentWork(): string | null {
  return storage.getStore()?.name ?? null
}
