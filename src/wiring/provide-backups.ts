import { Backups } from '../backup/backups.ts'
import { copyKeys } from '../backup/keys.ts'
import type { Parts } from './container.ts'
import type { Stores } from './stores.ts'
import { T } from './tokens.ts'

/** Backups of the opened stores. Needs the collector. @param dataDir absolute */
export function provideBackups(parts: Parts, stores: Stores, dataDir: string, roots: readonly string[]): void {
  parts.provide(T.backups, p => {
    const { database, blockFiles, datastore } = stores
    const source = {
      ...{ dataDir, blockFiles, collector: p.get(T.collector), clock: p.get(T.clock) },
      copyDatabase: (file: string, signal?: AbortSignal) => database.copyTo(file, signal),
      copyKeys: (to: string) => copyKeys(dataDir, datastore, to),
    }
    return new Backups(source, p.get(T.activity), roots)
  })
}
