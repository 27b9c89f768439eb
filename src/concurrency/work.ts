import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<{ name: string }>()

/** Runs work under a name, by which it can be told who holds the event loop. All that it sets going has the name too. */
export function underName<T>(name: string, work: () => T): T {
  return storage.run({ name }, work)
}

/** Gives a better name to the work that this is part of, if it has one. */
export function renameWork(name: string): void {
  const work = storage.getStore()
  if (work !== undefined) work.name = name
}

/** The name of the work that runs at this moment; null for work without one. */
export function currentWork(): string | null {
  return storage.getStore()?.name ?? null
}
