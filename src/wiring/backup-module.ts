import { Backups } from '../backup/backups.ts'
import { keysOf } from '../backup/key-directory.ts'
import type { Lifecycle } from './container.ts'
import type { ContentModule } from './content-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export interface BackupModule extends Lifecycle {
  backups: Backups
}

export function makeBackup(
  { dataDir, clock, longRuns, metrics, config }: Setup,
  { storage, content }: { storage: StorageModule; content: ContentModule },
): BackupModule {
  const { blockFiles, database, datastore } = storage
  const source = {
    dataDir,
    blockFiles,
    collector: content.collector,
    clock,
    copyDatabase: (file: string, signal?: AbortSignal) => database.copyTo(file, signal),
    keys: () => keysOf(dataDir, datastore),
  }
  return { backups: new Backups(source, longRuns, metrics, config) }
}
