import type { SharedReading } from '../gateway/source/shared-reading.ts'
import { moduleLoaders } from './module-loaders.ts'
import { databaseOf, type Reading, type ReadingMeans } from './open-reading.ts'

/**
 * Opens a gateway in this thread for the data of an engine in another thread. All threads share leases, slots and
 * takedowns. The caller closes the gateway.
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if the database cannot be opened
 * @example const { gateway } = openReading(workerData)
 */
export function openReading(reading: Pick<SharedReading, 'data' | 'port'>, means: ReadingMeans = {}): Reading {
  const database = databaseOf(reading)
  const opening = moduleLoaders.reading().then(({ readingIn }) => readingIn(reading, means, database))
  // Each request reports a failed load. Without requests, nobody needs to know.
  opening.catch(() => undefined)
  return {
    gateway: async request => (await opening).gateway(request),
    close: () =>
      void opening.then(
        ({ close }) => close(),
        () => database.close(),
      ),
  }
}
