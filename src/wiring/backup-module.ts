import { Backups } from '../backup/backups.ts'
import { keysOf } from '../backup/key-directory.ts'
import type { Lifecycle } from './container.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'

export interface BackupModule extends Lifecycle {
  backups: Backups
}

export function makeBackup(
  { dataDir, clock, longRuns, metrics, config }: Setup,
  { storage, pins }: Pick<PinModules, 'storage' | 'pins'>,
): BackupModule {
  const { blockFiles, database, datastore } = storage
  const source = {
    dataDir,
    blockFiles,
    deletion: pins.deletion,
    clock,
    copyDatabase: (file: string, signal?: AbortSignal) => database.copyTo(file, signal),
    keys: () => keysOf(dataDir, datastore),
  }
  return { backups: new Backups(source, longRuns, metrics, config) }
}
