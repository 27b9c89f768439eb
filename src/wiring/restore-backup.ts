import { resolve } from 'node:path'
import { type RestoreOptions, type RestoreOutcome, restore } from '../backup/restore.ts'
import { bringKeys } from './backup-keys.ts'

/** What is restored, where, and how. */
export interface RestoreBackupOptions extends RestoreOptions {
  /** What `Engine.backup` has written. */
  backup: string
  /** Missing or empty; becomes a data directory. */
  dataDir: string
  /**
   * Keep the identity by which other nodes know this one, and the keys that sign sessions: for when the node of the
   * backup is gone for good. Default false: the copy is a node of its own.
   */
  sameNode?: boolean
}

/**
 * Makes a data directory of a backup. No engine may be using it yet.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`, `BLOCK_DAMAGED`
 */
export function restoreBackup({ backup, dataDir, sameNode = false, ...options }: RestoreBackupOptions) {
  const bring: Parameters<typeof restore>[2] = (keys, { database }) =>
    bringKeys(resolve(dataDir), { keys, database, sameNode })
  return restore(backup, dataDir, bring, options) satisfies Promise<RestoreOutcome>
}
